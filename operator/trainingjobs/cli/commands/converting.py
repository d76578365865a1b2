"""`convert`: other operators' jobs become TrainingJobs."""

import sys

import click

from trainingjobs.cli import options


@click.command("convert", cls=options.Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
def convert_(files: tuple[str, ...]) -> None:
    r"""Turn other operators' jobs into TrainingJobs.

    PyTorchJob, TFJob, JAXJob, MPIJob, TrainJob, JobSet and Volcano's Job go to the standard
    output; what could not be carried over is said on the standard error.

    \b
    Examples:
      {program} convert pytorchjob.yaml | kubectl apply -f -
    """
    from trainingjobs.convert import __main__ as conversion  # noqa: PLC0415  not for help

    sys.exit(conversion.main(list(files)))
