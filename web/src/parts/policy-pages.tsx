/**
 * Common parts of the pages of groups and of rules: the list with the form for a new one, and the page of
 * one.
 */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { go, to, useQueryPart } from '../place.ts';
import { Button } from './button.tsx';
import { PolicyConfirm } from './effect.tsx';
import { EventList } from './event-list.tsx';
import { Name } from './name.tsx';
import { Page, Panel } from './page.tsx';
import { Answered, type Asked, Empty, Query } from './states.tsx';

/** Callbacks for the end of a form. */
export interface FormEnds {
  readonly onSaved: (name: string) => void;
  readonly onCancel: () => void;
}

const kinds = {
  group: { one: 'Group', all: 'Groups', list: 'groups' },
  rule: { one: 'Rule', all: 'Rules', list: 'rules' },
} as const;

interface PolicyListProps {
  readonly kind: keyof typeof kinds;
  /** `name` comes from a link to create something; otherwise it is empty. */
  readonly form: (policy: WholePolicy, ends: FormEnds, name: string) => ComponentChildren;
  readonly list: (policy: WholePolicy) => ComponentChildren;
}

export function PolicyList({ kind, form, list }: PolicyListProps) {
  const [query] = useQueryPart();
  const wanted = query.get('new') ?? '';
  const [isCreating, setCreating] = useState(wanted !== '');
  const { all } = kinds[kind];
  const create = (
    <Button look="primary" onClick={() => setCreating(true)}>
      New {kind}
    </Button>
  );
  const ends = { onSaved: (name: string) => go(to(kind, name)), onCancel: () => setCreating(false) };
  return (
    <Page title={all} help={all.toLowerCase()} actions={isCreating ? undefined : create}>
      <Query of={policyQuery} what={`the ${kinds[kind].list}`}>
        {whole => (
          <>
            {isCreating && <Panel title={`New ${kind}`}>{form(whole, ends, wanted)}</Panel>}
            {list(whole)}
          </>
        )}
      </Query>
    </Page>
  );
}

interface PolicyPieceProps<Piece, Seen> {
  readonly kind: keyof typeof kinds;
  readonly name: string;
  /** Query for the content of the page; its data is null if the name does not exist. */
  readonly query: Asked & { readonly data: Seen | null | undefined };
  /** Finds the item in the policy, which is loaded only to edit or delete it. */
  readonly find: (policy: WholePolicy) => Piece | undefined;
  readonly form: (policy: WholePolicy, piece: Piece, ends: FormEnds) => ComponentChildren;
  readonly shown: (seen: Seen) => ComponentChildren;
  /** Returns the policy without the item. */
  readonly without: (policy: WholePolicy) => WholePolicy;
  /** Explains further effects of deleting it. */
  readonly deleting: (piece: Piece) => ComponentChildren;
}

export function PolicyPiece<Piece, Seen>(props: PolicyPieceProps<Piece, Seen>) {
  const { kind, name, query, find, form, shown, without, deleting } = props;
  const [doing, setDoing] = useState<'nothing' | 'saved' | 'editing' | 'deleting'>('nothing');
  const { one, all, list } = kinds[kind];
  const nothing = () => setDoing('nothing');
  return (
    <Page
      help={all.toLowerCase()}
      title={`${one} ${name}`}
      heading={
        <>
          {one} <Name>{name}</Name>
        </>
      }
      trail={<a href={to(list)}>{all}</a>}
      actions={
        doing !== 'editing' && (
          <>
            <Button onClick={() => setDoing('editing')}>Edit</Button>
            <Button look="danger" onClick={() => setDoing('deleting')}>
              Delete
            </Button>
          </>
        )
      }
    >
      <Answered query={query} what={`the ${kind}`}>
        {seen => {
          if (seen === null) {
            return (
              <Empty>
                No {kind} has this name. It may have been deleted.{' '}
                <a href={to(list, undefined, { new: name })}>Create it</a>
              </Empty>
            );
          }
          const changes = <Changes kind={kind} name={name} isSaved={doing === 'saved'} />;
          return (
            <>
              {doing === 'saved' && changes}
              {doing !== 'editing' && shown(seen)}
              {(doing === 'editing' || doing === 'deleting') && (
                <Query of={policyQuery} what="the policy">
                  {whole => changing(whole, find(whole))}
                </Query>
              )}
              {doing !== 'saved' && changes}
            </>
          );
        }}
      </Answered>
    </Page>
  );

  function changing(whole: WholePolicy, piece: Piece | undefined) {
    if (piece === undefined) return null;
    if (doing === 'editing') {
      const ends = { onSaved: () => setDoing('saved'), onCancel: nothing };
      return <Panel title="Edit">{form(whole, piece, ends)}</Panel>;
    }
    return (
      <PolicyConfirm
        title={`Delete the ${kind} ${printable(name)}?`}
        action={`Delete the ${kind}`}
        done={`The ${kind} is deleted.`}
        policy={whole}
        edited={without(whole)}
        onClose={isDone => (isDone ? go(to(list), { replace: true }) : nothing())}
      >
        {deleting(piece)}
      </PolicyConfirm>
    );
  }
}

interface ChangesProps {
  readonly kind: keyof typeof kinds;
  readonly name: string;
  /** True if the newest change was made on this page just now. */
  readonly isSaved: boolean;
}

/** Limit of the searched events. Some of them only contain the name in another name. */
const mostLookedAt = 100;

function Changes({ kind, name, isSaved }: ChangesProps) {
  return (
    <Panel title={isSaved ? 'Saved' : 'Changes'}>
      <EventList
        asked={{ kind: 'policy', owner: undefined, q: name, limit: mostLookedAt }}
        isOfOne
        isShown={event => event.kind === 'policy' && event.what === kind && event.name === name}
      />
    </Panel>
  );
}
