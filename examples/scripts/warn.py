"""Warns every owner who uses more than 80 % of a limit, by mail where the address is known."""

import json, os, subprocess, urllib.parse, urllib.request

api = os.environ.get("SOFTQUOTA_API", "http://127.0.0.1:3080/api/v1")
sendmail = os.environ.get("SENDMAIL", "/usr/sbin/sendmail")


def get(path):
    headers = {"Authorization": "Bearer " + os.environ["SOFTQUOTA_TOKEN"]}
    with urllib.request.urlopen(urllib.request.Request(api + path, headers=headers)) as answer:
        return json.load(answer)


page = 1
while owners := get(f"/admin/quota/usage?sort=percent&limit=1000&page={page}"):
    page += 1
    for owner in owners:
        used, limit = owner["used"], owner["limit"]
        if limit is None or limit < 0 or used * 100 <= limit * 80:
            continue
        text = f"{owner['name']} uses {used} of {limit} bytes"
        print(text)
        email = get("/admin/users/" + urllib.parse.quote(owner["name"], safe=""))["email"]
        if email:
            mail = f"To: {email}\nSubject: Your storage is nearly full\n\n{text}.\n"
            subprocess.run([sendmail, "-t"], input=mail, text=True, check=True)
