"""An S3 service on loopback: OpenStack Swift with its S3 API, all of its servers in this process, its files in a folder.

    swift_service.py FOLDER     prints the port, and ends with its standard input
"""

import os
import sys

import warnings

warnings.simplefilter("ignore")

import eventlet  # noqa: E402

eventlet.monkey_patch()

from array import array  # noqa: E402

from swift.account.server import AccountController  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.ring import RingData  # noqa: E402
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402
from swift.container.server import ContainerController  # noqa: E402
from swift.obj.server import ObjectController  # noqa: E402

PROXY = """
[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors s3api tempauth bulk slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_spec_key = secret .admin
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
"""


def main(folder):
    os.makedirs(os.path.join(folder, "devices", "disk"))
    with open(os.path.join(folder, "swift.conf"), "w") as f:
        f.write("[swift-hash]\nswift_hash_path_suffix = spec\n")
    utils.SWIFT_CONF_FILE = os.path.join(folder, "swift.conf")
    utils.HASH_PATH_SUFFIX = b"spec"
    conf = {
        "devices": os.path.join(folder, "devices"),
        "swift_dir": folder,
        "mount_check": "false",
        "fallocate_reserve": "0",
        "log_level": "ERROR",
    }
    for name, controller in (
        ("account", AccountController),
        ("container", ContainerController),
        ("object", ObjectController),
    ):
        sock = eventlet.listen(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        device = {
            "id": 0, "zone": 0, "region": 1, "weight": 1, "device": "disk",
            "ip": "127.0.0.1", "port": port,
            "replication_ip": "127.0.0.1", "replication_port": port,
        }  # fmt: skip
        RingData([array("H", [0])], [device], 32).save(os.path.join(folder, name + ".ring.gz"))
        logger = utils.get_logger(conf, name)
        serve(sock, controller(conf, logger=logger))
    path = os.path.join(folder, "proxy-server.conf")
    with open(path, "w") as f:
        f.write(PROXY.format(folder=folder))
    sock = eventlet.listen(("127.0.0.1", 0))
    serve(sock, loadapp(path, allow_modify_pipeline=True))
    print(sock.getsockname()[1], flush=True)
    eventlet.tpool.execute(sys.stdin.read)


def serve(sock, app):
    eventlet.spawn(
        eventlet.wsgi.server, sock, app, utils.NullLogger(), protocol=SwiftHttpProtocol
    )


import eventlet.tpool  # noqa: E402
import eventlet.wsgi  # noqa: E402

main(os.path.abspath(sys.argv[1]))
