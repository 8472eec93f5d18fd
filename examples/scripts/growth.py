"""Writes the ten owners whose usage has grown most in the last seven days."""

import json, os, urllib.parse, urllib.request

api = os.environ.get("SOFTQUOTA_API", "http://127.0.0.1:3080/api/v1")


def get(path):
    headers = {"Authorization": "Bearer " + os.environ["SOFTQUOTA_TOKEN"]}
    with urllib.request.urlopen(urllib.request.Request(api + path, headers=headers)) as answer:
        return json.load(answer)


grown = []
page = 1
while owners := get(f"/admin/quota/usage?limit=1000&page={page}"):
    page += 1
    for owner in owners:
        name = urllib.parse.quote(owner["name"], safe="")
        points = get(f"/admin/quota/history?range=week&owner={name}")["points"]
        if points:
            grown.append((owner["total"] - sum(points[0]["bytes"]), owner["name"]))

for growth, name in sorted(grown, reverse=True)[:10]:
    print(f"{growth:+} bytes: {name}")
