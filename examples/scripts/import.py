"""Puts the limits of a CSV file into force, all of them or none."""

import csv, json, os, sys, urllib.error, urllib.request

api = os.environ.get("SOFTQUOTA_API", "http://127.0.0.1:3080/api/v1")


def ask(method, path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["SOFTQUOTA_TOKEN"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(api + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(json.load(error)["message"])


with open(sys.argv[1], newline="") as file:
    limits = {row["owner"].lower(): int(row["limit"]) for row in csv.DictReader(file)}

policy = ask("GET", "/admin/quota/policy")
groups = {group["name"]: group for group in policy["groups"]}
rules = {rule["name"]: rule for rule in policy["rules"]}
for group in groups.values():
    if group["name"].startswith("limit-"):
        group["users"] = [user for user in group["users"] if user.lower() not in limits]
for owner, limit in limits.items():
    name = f"limit-{limit}"
    rules.setdefault(name, {"name": name, "limit": limit, "subjects": ["size:all"]})
    groups.setdefault(name, {"name": name, "rules": [name], "users": []})["users"].append(owner)

body = {"version": policy["version"], "rules": list(rules.values()), "groups": list(groups.values())}
ask("PUT", "/admin/quota/policy", body)
print(f"{len(limits)} limits are in force")
