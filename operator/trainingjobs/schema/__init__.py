"""From the models to the resource definition: what users may write is said in one place only.

Nothing here runs in the operator. `make generate` prints the models as a structural schema,
adds the rules that span fields, and writes the file that users apply and the chart's copy.
"""
