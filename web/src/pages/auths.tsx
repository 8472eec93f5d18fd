/**
 * OAuth2 sources: providers for sign-ins, the effect of their claims on quota groups, linked accounts, and
 * claimed groups that the mapping does not contain.
 */

import { useQuery } from '@tanstack/preact-query';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { Event } from '../../../src/overview/event-shapes.ts';
import { printable } from '../../../src/text.ts';
import type { SavedSource, Source } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { auths, authsQuery, linksOf, linksQuery, signInsQuery } from '../api/auth-queries.ts';
import { refresh } from '../api/client.ts';
import { SourceForm } from '../auths/source-form.tsx';
import { announce } from '../parts/announcer.tsx';
import { Button, useAction } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Time } from '../parts/figures.tsx';
import { Name, NameLink } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Pager, pageSize } from '../parts/pager.tsx';
import { Answered, Fault, Query } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';

type Open = 'new' | number | null;

export function Auths() {
  const sources = useQuery(authsQuery);
  const [open, setOpen] = useState<Open>(null);
  const [saved, setSaved] = useState<SavedSource | null>(null);
  const [deleting, setDeleting] = useState<Source | null>(null);
  const edited = sources.data?.find(({ id }) => id === open);
  const show = (next: Open) => {
    setSaved(null);
    setOpen(next);
  };
  return (
    <Page
      help="auths"
      title="OAuth2 sources"
      actions={<Button onClick={() => show('new')}>New source</Button>}
    >
      {saved !== null && <Saved source={saved} />}
      <Answered query={sources} what="the sources" rows={2}>
        {list => <List sources={list} onEdit={show} onDelete={setDeleting} />}
      </Answered>
      {open === 'new' && (
        <SourceForm
          onSaved={source => {
            setSaved(source);
            setOpen(source.id);
          }}
          onCancel={() => show(null)}
        />
      )}
      {edited !== undefined && (
        <Fragment key={edited.id}>
          <SourceForm source={edited} onSaved={setSaved} onCancel={() => show(null)} />
          <UnmappedGroups source={edited} />
          <Links source={edited.id} />
        </Fragment>
      )}
      {deleting !== null && (
        <Confirm
          title={`Delete the source ${printable(deleting.name)}?`}
          action="Delete the source"
          done="The source is deleted."
          isDangerous
          act={async () => {
            await ask([...auths, String(deleting.id)], { method: 'DELETE' });
            show(null);
          }}
          onClose={() => setDeleting(null)}
        >
          <p>
            Nobody can sign in with this source any more. Its users are signed out, and administrators whom it
            made are no longer administrators. Users and their quota groups do not change.
          </p>
        </Confirm>
      )}
    </Page>
  );
}

function Saved({ source: { name, redirect_uri: redirectUri, warning } }: { source: SavedSource }) {
  return (
    <div class="state" role="status">
      <p>
        <Name>{name}</Name> is saved. Its redirect URI, to be entered at the provider:{' '}
        <code>{redirectUri}</code>
      </p>
      {warning !== null && (
        <p>
          <span class="mark near">warning</span> {printable(warning)}
        </p>
      )}
    </div>
  );
}

interface ListProps {
  readonly sources: readonly Source[];
  readonly onEdit: (id: number) => void;
  readonly onDelete: (source: Source) => void;
}

function List({ sources, onEdit, onDelete }: ListProps) {
  return (
    <Table
      caption="OAuth2 sources"
      empty="No sources yet. With a source, users sign in with your identity provider, and their quota groups follow the groups that the provider claims for them."
      rows={sources}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Name', cell: ({ name }) => <Name>{name}</Name> },
        {
          title: 'Provider',
          isWide: true,
          cell: source => <code>{printable(source.openid_connect_auto_discovery_url)}</code>,
        },
        { title: 'State', cell: source => <State source={source} /> },
        {
          title: 'Change',
          cell: source => (
            <span class="row">
              <RowButton words="Edit" about={printable(source.name)} onClick={() => onEdit(source.id)} />
              <RowButton words="Delete" about={printable(source.name)} onClick={() => onDelete(source)} />
            </span>
          ),
        },
      ]}
    />
  );
}

function State({ source }: { source: Source }) {
  const { is_active: isActive, client_secret_state: secret, unknown_quota_groups: unknown } = source;
  return (
    <>
      <span class={`mark ${isActive ? 'good' : ''}`}>{isActive ? 'active' : 'switched off'}</span>{' '}
      {secret === 'unreadable' && <span class="mark bad">secret unreadable</span>}{' '}
      {unknown.length > 0 && (
        <span class="mark near" title={unknown.map(printable).join(', ')}>
          unknown groups
        </span>
      )}
    </>
  );
}

function Links({ source }: { readonly source: number }) {
  const [page, setPage] = useState(1);
  const [unlinking, setUnlinking] = useState<string | null>(null);
  return (
    <Panel title="Linked accounts">
      <Query of={linksQuery(source, page, pageSize)} what="the linked accounts" rows={2}>
        {({ entries, total }) => (
          <div class="stack">
            <Table
              caption="Users and their accounts at the provider"
              empty="No linked accounts. A sign-in with this provider creates a link."
              rows={entries}
              keyOf={({ user }) => user}
              columns={[
                {
                  title: 'User',
                  cell: ({ user, gives_administration: isAdmin }) => (
                    <>
                      <NameLink page="owner">{user}</NameLink>{' '}
                      {isAdmin && <span class="mark">administrator through this source</span>}
                    </>
                  ),
                },
                { title: 'Subject', cell: ({ subject }) => <Name>{subject}</Name> },
                { title: 'Since', isWide: true, cell: link => <Time at={link.created_at} /> },
                {
                  title: 'Unlink',
                  cell: ({ user }) => (
                    <RowButton words="Unlink" about={printable(user)} onClick={() => setUnlinking(user)} />
                  ),
                },
              ]}
            />
            <Pager page={page} total={total} of={['account', 'accounts']} onPage={setPage} />
          </div>
        )}
      </Query>
      <NewLink source={source} />
      {unlinking !== null && (
        <Confirm
          title="Unlink this user?"
          action="Unlink"
          done="The account is unlinked."
          isDangerous
          act={() => ask([...linksOf(source), unlinking], { method: 'DELETE' })}
          onClose={() => setUnlinking(null)}
        >
          <p>
            <Name>{unlinking}</Name> is signed out. Administrator rights from the provider end. The next
            sign-in is treated like the first one.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function NewLink({ source }: { source: number }) {
  const [user, setUser] = useState('');
  const [subject, setSubject] = useState('');
  const { start, isBusy, failure } = useAction(async () => {
    await ask([...linksOf(source), user.trim()], { method: 'PUT', body: { subject } });
    await refresh();
    announce('The account is linked.');
    setUser('');
    setSubject('');
  });
  return (
    <form class="stack" onSubmit={start}>
      <div class="fields">
        <Field label="User on this server" value={user} onInput={setUser} />
        <Field label="Subject at the provider (sub)" value={subject} onInput={setSubject} isCode />
        <button type="submit" disabled={isBusy || user.trim() === '' || subject === ''}>
          Link account
        </button>
      </div>
      {failure !== null && <Fault of={failure} />}
    </form>
  );
}

function UnmappedGroups({ source }: { readonly source: Source }) {
  return (
    <Panel title="Claimed groups without a mapping">
      <Query of={signInsQuery} what="the latest sign-ins" rows={2}>
        {events => (
          <>
            {ignoredOf(source, events).map(why => (
              <p key={why}>Not understood at the latest sign-in, so nobody was removed: {why}</p>
            ))}
            <Table
              caption="Groups at the provider that have no effect"
              empty="None in the latest sign-ins."
              rows={unmappedOf(source, events)}
              keyOf={({ group }) => group}
              columns={[
                { title: 'Claimed group', cell: ({ group }) => <Name>{group}</Name> },
                { title: 'Last user', cell: ({ user }) => <NameLink page="owner">{user}</NameLink> },
                { title: 'Time', isWide: true, cell: ({ at }) => <Time at={at} /> },
              ]}
            />
          </>
        )}
      </Query>
    </Panel>
  );
}

function ignoredOf({ id }: Pick<Source, 'id'>, events: readonly Event[]): readonly string[] {
  const latest = events.find(event => event.kind === 'sign-in' && event.source.id === id);
  return latest?.kind === 'sign-in' ? latest.ignored : [];
}

/** A claimed group without a mapping, and the latest sign-in with it. */
interface Unmapped {
  readonly group: string;
  readonly user: string;
  readonly at: string;
}

/**
 * Returns each unmapped group once, by name. `events` are the newest first. Groups that were mapped later are
 * left out.
 */
function unmappedOf(
  { id, quota_group_map: mapping }: Pick<Source, 'id' | 'quota_group_map'>,
  events: readonly Event[],
): readonly Unmapped[] {
  const found = new Map<string, Unmapped>();
  for (const event of events) {
    if (event.kind !== 'sign-in' || event.source.id !== id) continue;
    for (const group of event.unmapped ?? []) {
      if (found.has(group) || Object.hasOwn(mapping, group)) continue;
      found.set(group, { group, user: event.owner, at: event.at });
    }
  }
  return [...found.values()].sort((a, b) => (a.group < b.group ? -1 : 1));
}
