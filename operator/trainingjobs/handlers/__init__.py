"""The only importer of kopf: doorbells, the process, its probes and its metrics."""
