#!/usr/bin/env python3
"""Tells people by e-mail or in a chat of jobs that have ended.

It receives what `jq-server --notify http://127.0.0.1:8790/` sends, and needs Python 3.9 alone. One of, or both:

  receiver.py --secret-file secret --smtp mail.lab:25 --mail-from jq@lab.example --mail-to '{owner}@lab.example'
  receiver.py --secret-file secret --chat-url-file url    # an incoming webhook of Slack, Mattermost or Rocket.Chat

What it could not pass on it refuses, so that the server sends it again.
"""
import argparse
import base64
import hashlib
import hmac
import json
import smtplib
import time
import urllib.request
from collections import OrderedDict
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

# Seconds that a signature may be old, and bytes that a body may have.
OLDEST = 300
LONGEST = 1024 * 1024
# Seconds for the mail server or chat; the server waits ten for an answer.
TIMEOUT = 8

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--port", type=int, default=8790)
parser.add_argument("--secret-file", type=Path, required=True, help="that of jq-server --notify-secret-file")
parser.add_argument("--only", action="append", metavar="TYPE", help="job_succeeded, job_failed, job_cancelled")
parser.add_argument("--smtp", metavar="HOST:PORT")
parser.add_argument("--mail-from")
parser.add_argument("--mail-to", help="{owner} stands for the principal that submitted the job")
parser.add_argument("--chat-url-file", type=Path, help="a file, since the address is a secret")
args = parser.parse_args()
if args.smtp and not (args.mail_from and args.mail_to):
    parser.error("--smtp needs --mail-from and --mail-to")
KEY = base64.b64decode(args.secret_file.read_text().strip().removeprefix("whsec_"))
CHAT = args.chat_url_file.read_text().strip() if args.chat_url_file else None

# What was passed on: it may come again, with the same id.
known = OrderedDict()


def is_genuine(headers, body):
    """https://www.standardwebhooks.com: the id, the time and the body are signed, and the time is not long ago."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > OLDEST:
        return False
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected.encode(), one.encode()) for one in given)


def pass_on(notification):
    job, event = notification["data"]["job"], notification["data"]["event"]
    if args.only and notification["type"] not in args.only:
        return
    if args.smtp:
        mail = EmailMessage()
        mail["Subject"] = f"{job['name'] or job['id']}: {job['status']}"
        mail["From"] = args.mail_from
        mail["To"] = args.mail_to.replace("{owner}", job["owner"])
        mail.set_content(f"{event['message']}\n\njqctl status {job['id']}\n")
        host, _, port = args.smtp.partition(":")
        with smtplib.SMTP(host, int(port or 25), timeout=TIMEOUT) as server:
            server.send_message(mail)
    if CHAT:
        said = json.dumps({"text": f"{event['message']} ({job['owner']})"}).encode()
        request = urllib.request.Request(CHAT, said, {"content-type": "application/json"})
        urllib.request.urlopen(request, timeout=TIMEOUT).close()


class Receiver(BaseHTTPRequestHandler):
    timeout = TIMEOUT

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        if length > LONGEST:
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body):
            return self.answer(401)
        name = self.headers["webhook-id"]
        if name not in known:
            try:
                pass_on(json.loads(body))
            except (OSError, smtplib.SMTPException) as fault:
                self.log_error("not passed on: %s", fault)
                return self.answer(502)
            known[name] = True
            while len(known) > 10_000:
                known.popitem(last=False)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()


server = HTTPServer(("127.0.0.1", args.port), Receiver)
print(f"listens on http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
