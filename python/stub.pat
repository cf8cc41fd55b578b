_yoke.__suffix__:
    class Error(RuntimeError):
        exit_status: int

    class UserError(Error, ValueError): ...

    class Diverged(Error): ...
