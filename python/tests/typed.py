"""A program with types, for mypy alone: the package's names are known by type, and a typing error is found."""
import numpy

import zcrp
import zcrp.asyncio


def receive(options: zcrp.Options) -> int:
    buffer = numpy.empty(1000, "u1")
    try:
        with zcrp.listen("127.0.0.1", 7000, options) as listener, listener.accept(timeout=1) as connection:
            return connection.receive_into(buffer)
    except zcrp.EndOfStreamError as error:
        assert isinstance(error, EOFError)
    except zcrp.TooLargeError as error:
        return error.size
    except (zcrp.CallTimeoutError, zcrp.IdleTimeoutError, zcrp.ProgressTimeoutError) as error:
        print(error.code)
    except zcrp.SystemCallError as error:
        print(error.errno)
    return 0


async def send(keys: zcrp.Keys) -> None:
    options = zcrp.Options(keys=keys, idle_timeout=2.5, connect_timeout=5, congestion="cubic")
    async with await zcrp.asyncio.connect("127.0.0.1", 7000, options) as connection:
        await connection.send(b"x")


receive(zcrp.Options(connect_timeout="5"))  # type: ignore[arg-type]
receive(zcrp.Options(silence=5))  # type: ignore[call-arg]
