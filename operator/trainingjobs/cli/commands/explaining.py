"""`explain`: what the operator would make of a job, worked out here, by the operator's own code."""

import click

from trainingjobs.cli import options
from trainingjobs.cli.commands.logs import Ranks


@click.command("explain", cls=options.Command)
@click.argument("job", metavar="FILE|JOB")
@click.option("-r", "--rank", "only", type=Ranks(), metavar="RANKS", help="As 0,2-3: of these.")
@click.option("--domain", default="cluster.local", metavar="NAME", help="The cluster's DNS domain.")
@click.option(
    "--report-url", metavar="URL", help="Where pods report to; '' where the roll call is off."
)
@options.output("yaml", "json")
@options.where
def explain_(
    job: str,
    only: frozenset[int] | None,
    domain: str,
    report_url: str | None,
    form: str | None,
) -> None:
    r"""Show the environment and the pods that every rank gets.

    A FILE needs no cluster. Ranks are those of the instances. The operator is taken to be of this
    version, and where its chart is usually installed.

    \b
    Examples:
      {program} explain job.yaml
      {program} explain job.yaml --rank 1 -o yaml
    """
    from trainingjobs.cli.commands import explained  # noqa: PLC0415  not for help

    explained.explain(job, only, form, domain=domain, url=report_url)
