"""A server of sessions on stdio that forgets nothing and asks whomever it can reach."""
import sys, json, threading, time
lock, waits, roots = threading.Lock(), {}, [None]
def out(o):
    with lock: print(json.dumps({'jsonrpc': '2.0', **o}), flush=True)
def ask(i, method, params):
    waits[i] = [threading.Event(), None]
    out({'id': i, 'method': method, 'params': params}); waits[i][0].wait(60)
    return waits[i][1]
def handle(m):
    n, p, i = m['method'], m.get('params') or {}, m['id']; a = p.get('arguments') or {}; who = a.get('who')
    if n == 'initialize':
        r = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}, 'logging': {}}, 'serverInfo': {'name': 'l', 'version': '1'}}
    elif n == 'tools/list':
        r = {'tools': [{'name': t, 'inputSchema': {'type': 'object'}} for t in ('log', 'sleep', 'ask', 'folders')]}
    elif n == 'tools/call':
        t = 'done'
        if p['name'] == 'sleep': time.sleep(2)
        if p['name'] == 'log': out({'method': 'notifications/message', 'params': {'level': 'info', 'data': 'SECRET OF ' + who}})
        if p['name'] == 'ask':
            time.sleep(1); t = 'answer: %s' % ask('q' + str(i), 'elicitation/create', {'message': 'Pay 900 from the account of ' + who + '?', 'requestedSchema': {'type': 'object', 'properties': {}}})
            sys.stderr.write(t + '\n'); sys.stderr.flush()
        if p['name'] == 'folders':
            roots[0] = roots[0] or ask('r', 'roots/list', {}); t = json.dumps(roots[0])
        r = {'content': [{'type': 'text', 'text': t}]}
    else: r = {}
    out({'id': i, 'result': r})
for line in sys.stdin:
    m = json.loads(line)
    if 'id' not in m: continue
    if 'method' in m: threading.Thread(target=handle, args=(m,), daemon=True).start()
    elif m['id'] in waits: waits[m['id']][1] = m.get('result', m.get('error')); waits[m['id']][0].set()
