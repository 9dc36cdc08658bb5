"""The Python client: a watch that is followed, and objects that are made and read. Arguments as those of the Go program."""
import argparse
import json
import signal
import threading
import time

from kubernetes import client, config, watch

PAUSE = 0.15
SETTLE = 20

parser = argparse.ArgumentParser()
parser.add_argument("--kubeconfig")
parser.add_argument("--namespace")
arguments = parser.parse_args()
config.load_kube_config(arguments.kubeconfig)
api = client.CoreV1Api()
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
adds = {}


def new_work():
    return {"done": 0, "errors": {}, "gaps": 0, "duplicates": 0}


def failed(work, error):
    said = getattr(error, "body", None) or getattr(error, "reason", None) or error
    try:
        said = json.loads(said)["message"]
    except (TypeError, ValueError, KeyError):
        pass
    text = f"{type(error).__name__}: {getattr(error, 'status', None) or ''} {said}"[:160]
    work["errors"][text] = work["errors"].get(text, 0) + 1


def follow(work):
    """Lists, then watches from there on; after an error it watches from where it was, after a 410 it lists again."""
    version = None
    while True:
        try:
            if version is None:
                found = api.list_namespaced_config_map(arguments.namespace)
                version = found.metadata.resource_version
                for each in found.items:
                    adds.setdefault(each.metadata.name, 1)
            for event in watch.Watch().stream(
                api.list_namespaced_config_map, arguments.namespace, resource_version=version
            ):
                metadata = event["object"].metadata
                version = metadata.resource_version
                if event["type"] == "ADDED":
                    work["done"] += 1
                    adds[metadata.name] = adds.get(metadata.name, 0) + 1
                    if adds[metadata.name] > 1:
                        work["duplicates"] += 1
        except client.ApiException as error:
            failed(work, error)
            if error.status == 410:
                version = None
            time.sleep(0.5)
        except Exception as error:  # What a library below it raises when a connection breaks.
            failed(work, error)
            time.sleep(0.5)


informer, writing = new_work(), new_work()
threading.Thread(target=follow, args=(informer,), daemon=True).start()
print("ready", flush=True)
written = []
number = 0
while not over.is_set():
    name = f"python-{number}"
    number += 1
    try:
        api.create_namespaced_config_map(arguments.namespace, {"metadata": {"name": name}})
        writing["done"] += 1
        written.append(name)
        api.read_namespaced_config_map(name, arguments.namespace)
        writing["done"] += 1
    except Exception as error:
        failed(writing, error)
    time.sleep(PAUSE)
end = time.time() + SETTLE
while time.time() < end and any(name not in adds for name in written):
    time.sleep(PAUSE)
informer["gaps"] = sum(name not in adds for name in written)
print(json.dumps({"informer": informer, "writing": writing}), flush=True)
