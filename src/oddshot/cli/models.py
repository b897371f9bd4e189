"""`oddshot models`: models that have a name, and their cards."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.options import JsonFile, check_outputs, write_json
from oddshot.cli.standard_output import frees_standard_output, say

models_app = typer.Typer(
    help="List and show models by name: the one that ships, and those of a folder.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder that has a folder for each model. By default $ODDSHOT_MODELS."),
]


@models_app.command("list")
@frees_standard_output
def list_models(folder: Folder = None, json_file: JsonFile = None) -> None:
    """List the names that --model takes, with a sentence about each model.

    Example: oddshot models list --folder models
    """
    from oddshot.universal.names import named_models, summarise

    models = named_models(folder)
    width = max(len(model.name) for model in models)
    facts = [{"name": one.name, "summary": summarise(one.read_card()), "file": str(one.file)} for one in models]
    say(*(f"{fact['name']:<{width}}  {fact['summary']}" for fact in facts))
    write_json(json_file, {"models": facts})


@models_app.command()
@frees_standard_output
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model as `oddshot models list` names it.")],
    folder: Folder = None,
    json_file: JsonFile = None,
) -> None:
    """Show the card of a model (data, figures, limits and licence), and check its file.

    Example: oddshot models show universal
    """
    from oddshot.universal.names import find_named

    found = find_named(name, folder)
    check_outputs([found.file, found.card], json=json_file)

    from oddshot.storage.container import read_container, read_digest
    from oddshot.storage.model_file import load_model

    card, model, digest = found.read_card(), load_model(found.file), read_digest(read_container(found.file))
    say(*card.splitlines(), "") if card else say(f"{name} has no card ({found.card.name} beside its file)")
    say(f"{found.file}: {model!r}, SHA-256 {digest}")
    write_json(json_file, {"name": name, "card": card, "file": str(found.file), "sha256": digest})
