# SPDX-License-Identifier: Apache-2.0
"""What a request to the fake API server must be like, to the letter. Sections are those of the
facts about Kubernetes that were tried on a real server."""

import re
import urllib.parse

# Section 5.1. The server's own source answers 406 to a list that is asked for in the form of one.
LIST_FORM = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
WATCH_FORM = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
HEADERS = {"host", "user-agent", "accept", "authorization"}
LIST_QUERY = {"fieldSelector", "limit"}
WATCH_QUERY = {
    "fieldSelector",
    "watch",
    "allowWatchBookmarks",
    "resourceVersion",
    "timeoutSeconds",
}


def wrong_parts(method, path, text, headers, node, timeouts):
    """Section 5.1 has the requests, section 5.2 the headers; what is not as they say."""
    query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
    is_watch = "watch" in query
    checks = {
        "method": method == "GET",
        "path": path == "/api/v1/pods",
        "query": set(query) - {"continue"} == (WATCH_QUERY if is_watch else LIST_QUERY),
        "selector": f"fieldSelector=spec.nodeName%3D{node}&" in text,
        "accept": headers.get("accept") == (WATCH_FORM if is_watch else LIST_FORM),
        "agent": bool(re.fullmatch(r"nvshare/\d+\.\d+\.\d+", headers.get("user-agent", ""))),
        "headers": set(headers) <= HEADERS,
        "continue": "continue" not in query or not is_watch,
    }
    if is_watch:
        checks["bookmarks"] = query.get("allowWatchBookmarks") == "true"
        checks["watch"] = query.get("watch") == "1"
        checks["timeout"] = int(query.get("timeoutSeconds", 0)) in timeouts
        checks["version"] = query.get("resourceVersion", "").isdigit()
    else:
        checks["limit"] = query.get("limit") == "500"
    return [name for name, is_right in checks.items() if not is_right]
