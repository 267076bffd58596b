"""What a read would do, said without doing it.

    stages    the codec chain, and what each codec is decoded by
    layout    which parts of a stored object a read can do with
    dryrun    the plan of one read, asked what it needs
    advice    where a layout, or a setting, costs more than it must
    explain   all of that of one array and selection

Each module uses those above it, none below. The public name is ``cyzarr.explain``.
"""
