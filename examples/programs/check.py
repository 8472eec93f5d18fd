import http.client
import socket
import sys
import urllib.parse


class Gate(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect("/run/softquota/gate.sock")


def may_store(owner, subject, size):
    """Tells whether the upload may start, and what to tell the person."""
    query = urllib.parse.urlencode({"owner": owner, "subject": subject, "size": size})
    gate = Gate("localhost", timeout=2)
    try:
        gate.request("GET", "/v1/check?" + query, headers={"Accept": "text/plain"})
        answer = gate.getresponse()
        text = answer.read(65536).decode()
        decision = answer.getheader("X-Softquota-Decision")
    except (OSError, http.client.HTTPException):
        decision = None
    finally:
        gate.close()
    if decision is None:
        return True, "The quota could not be checked."  # False denies
    return decision == "allowed", text


allowed, message = may_store(sys.argv[1], sys.argv[2], int(sys.argv[3]))
print(message, file=sys.stderr, end="")
sys.exit(0 if allowed else 1)
