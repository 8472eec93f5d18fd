/** What is asked of both lanes: the recorded decisions, the gate tests' questions, and what else clients send. */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { assign, createGroup } from '../../src/policy/index.ts';
import { isLeaf, isSubject, type RuleSubject } from '../../src/quota/index.ts';
import type { World } from './world.ts';

const ruleSubject = z.custom<RuleSubject>(text => text === 'none' || isSubject(String(text)));
const rule = z.object({ name: z.string(), limit: z.number(), subjects: z.array(ruleSubject) });
const group = z.object({ name: z.string(), rules: z.array(rule) });
const recorded = z
  .object({
    cases: z.array(
      z.object({
        groups: z.array(group),
        used: z.record(z.string().refine(isLeaf), z.number()),
        subject: z.string(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(new URL('../vectors/evaluation.json', import.meta.url), 'utf8')));

const GB = 1_000_000_000;

/** Puts what the questions are about in place: an owner for each recorded decision, and those of the gate tests. */
export async function settleCases({ ledger, told, walk }: World): Promise<void> {
  told.contact = 'https://git.example/quota';
  walk('/srv/git/alice/app.git', 'alice', 12.4 * GB);
  walk('/srv/git/alice/wiki.git', 'alice', 1, { leaf: 'size:assets:wiki' });
  walk('/srv/git/bob/app.git', 'bob', 9.2 * GB);
  walk('/srv/git/zoë/app.git', 'zoë', 9.9 * GB);
  walk('/srv/git/carol/\udcff \u00e9+.git', 'carol', 1);
  walk('/srv/git/nobody.git', null, 1);
  walk('/srv/git/huge/a.git', 'huge', Number.MAX_SAFE_INTEGER);
  walk('/srv/git/huge/b.git', 'huge', 1);
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    for (const [index, { groups }] of recorded.cases.entries()) {
      const owner = transaction.createOwner(`case-${index}`);
      for (const { name, rules } of groups) {
        const own = `${index}-${name}`;
        createGroup(changes, {
          name: own,
          rules: rules.map(({ name, limit, subjects }) => ({
            name: `${own}-${name}`,
            limitBytes: limit,
            subjects,
          })),
        });
        assign(changes, owner.id, own);
      }
    }
  });
  for (const [index, { used }] of recorded.cases.entries()) {
    for (const [leaf, bytes] of Object.entries(used)) {
      if (bytes > 0 && isLeaf(leaf)) walk(`/srv/git/case-${index}/${leaf}`, `case-${index}`, bytes, { leaf });
    }
  }
}

/** Queries that memory decides, each either way. */
export const decisionCases: readonly string[] = [
  ...recorded.cases.map(({ subject }, index) => `owner=case-${index}&subject=${subject}`),
  'owner=alice&subject=size:repos:private',
  'owner=ALICE&subject=size%3Arepos%3Aprivate&size=',
  'owner=alice&subject=size:git:lfs&size=1000&actor=bob',
  'owner=bob&subject=size:all',
  'owner=zo%C3%AB&subject=size:all',
  'owner=Newcomer&subject=size:all',
  'owner=%F0%9F%90%88&subject=size:all',
  'path=/srv/git/alice/app.git&actor=bob',
  'path=/srv/git/alice/wiki.git',
  'path=/srv/git/alice/app.git/refs/heads&owner=bob',
  'path=%2Fsrv%2Fgit%2Fbob%2Fapp.git&subject=size:git:lfs',
  'path=/srv/git/carol/%FF+%C3%A9%2b.git',
  'path=//srv/./git/x/../carol/%ff%20%c3%a9%2B.git//',
  'path=&owner=bob&subject=size:all&&unknown=1',
];

/** A question as a client sends it. */
type ClientForm = (query: string) => string;

function formWith(...headers: readonly string[]): ClientForm {
  return query => `GET /v1/check?${query} HTTP/1.1\r\n${headers.map(header => `${header}\r\n`).join('')}\r\n`;
}

/** curl as the hooks call it, Go, Node with an agent and without, and the least that there can be. */
export const clientForms: readonly [ClientForm, ClientForm, ...ClientForm[]] = [
  formWith('Host: localhost', 'User-Agent: curl/8.5.0', 'Accept: text/plain'),
  formWith('Host: unix', 'User-Agent: Go-http-client/1.1', 'Accept-Encoding: gzip'),
  formWith('Host: localhost', 'Connection: keep-alive', 'Accept: application/json, text/plain, */*'),
  formWith('Host: localhost', 'Connection: close', 'accept: text/plain'),
  formWith('host:x'),
];

const plain = clientForms[0];

/** Requests that only `node:http` reads, or that it has to answer. */
export const otherRequests: readonly string[] = [
  ...[
    '',
    'owner=alice',
    'owner=&subject=size:all',
    'owner=..&subject=size:all',
    'owner=alice&subject=size:none',
    'owner=alice&subject=size:all&size=-1',
    'owner=alice&owner=bob&subject=size:all',
    'owner=%zz&subject=size:all',
    'owner=huge&subject=size:all',
    'owner=alice&subject=size:all#part',
    'owner=zo\u00eb&subject=size:all',
    'path=/etc/passwd',
    'path=/srv/git/nobody.git',
    'path=relative',
    Array.from({ length: 120 }, (_, n) => `p${n}=1`).join('&'),
    `path=/${'x'.repeat(9000)}`,
    `path=/${'x'.repeat(20_000)}`,
  ].map(plain),
  ...[
    formWith(),
    formWith('Host: a', 'Host: b'),
    formWith('Host: a', 'Accept: text/plain', 'Accept: application/json'),
    formWith('Host: a', 'Connection: Keep-Alive, close'),
    formWith('Host: a', 'Connection: upgrade', 'Upgrade: websocket'),
    formWith('Host: a', 'Expect: 100-continue'),
    formWith('Host: a', 'Content-Length: 0'),
    formWith('Host: a', 'Transfer-Encoding: chunked'),
    formWith('Host: a', 'X-Forwarded-For: b'),
    formWith('Host : a'),
    formWith('Host: a', ' folded'),
    formWith('Host: a\u0001'),
    formWith('Host: a', 'User-Agent: \u00e9'),
    formWith('Host: a', 'Connection: close\t'),
  ].map(form => form('owner=alice&subject=size:all')),
  'HEAD /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: a\r\n\r\n',
  'PUT /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /v1/check?owner=alice&subject=size:all HTTP/1.0\r\nHost: a\r\n\r\n',
  'GET /v1/check?owner=alice&subject=size:all HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  'GET http://gate/v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /v1/check?owner=alice&subject=size:all HTTP/1.1\nHost: a\n\n',
  '\r\nGET /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: a\r\n\r\n',
  'get /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n{"owner":"alice","subject":"size:all"}',
  'POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 28\r\n\r\nowner=alice&subject=size:all',
  'POST /v1/changed HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 27\r\n\r\npath=/srv/git/alice/app.git',
  'GET /v1/check HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /v1/checks?owner=alice HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n',
  'GET /v1/usage?owner=alice HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  '\u0016\u0003\u0001\r\n\r\n',
  '\r\n\r\n',
];
