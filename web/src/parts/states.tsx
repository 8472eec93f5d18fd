/** Content of a page without figures: loading, empty, or failed. */

import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { faultOf, wordsOf } from '../api/fault.ts';
import { Button } from './button.tsx';

/** Placeholder rows for content that is being loaded. */
export function Loading({ rows = 4 }: { readonly rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        // All rows are the same.
        <span key={String(index)} />
      ))}
    </div>
  );
}

/** Says that there is nothing, and what to do about it. */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="state">{children}</div>;
}

/** One line with the reason why an action failed. */
export function Fault({ of }: { readonly of: unknown }) {
  return (
    <p class="fault-text" role="alert">
      {wordsOf(faultOf(of))}
    </p>
  );
}

/** Part of a query that is needed here. */
export interface Asked {
  readonly error: unknown;
  readonly refetch: () => unknown;
}

interface FailedProps {
  readonly query: Asked;
  /** Name of the content that could not be loaded: `the owners`. */
  readonly what: string;
}

export function Failed({ query, what }: FailedProps) {
  const fault = faultOf(query.error);
  return (
    <div class="state failed" role="alert">
      <p>
        <strong>Cannot show {what}.</strong> {wordsOf(fault)}
      </p>
      {fault.is === 'unreachable' && <p>This page continues automatically when it answers.</p>}
      <Button onClick={() => void query.refetch()}>Try again</Button>
    </div>
  );
}

interface AnsweredProps<Data> {
  readonly query: Asked & { readonly data: Data | undefined };
  readonly what: string;
  /** Number of rows to reserve space for. */
  readonly rows?: number;
  readonly children: (data: Data) => ComponentChildren;
}

/**
 * Shows the answer of a query, also while it is repeated or if that fails, unless the user may no longer see
 * it or it no longer exists. Before the first answer it shows the state.
 */
export function Answered<Data>({ query, what, rows = 4, children }: AnsweredProps<Data>) {
  const fault = query.error === null ? null : faultOf(query.error);
  const isRefused = fault?.is === 'refused';
  if (query.data === undefined && fault === null) return <Loading rows={rows} />;
  if (query.data === undefined || (isRefused && [403, 404].includes(fault.status))) {
    return <Failed query={query} what={what} />;
  }
  return (
    <>
      {isRefused && <p role="status">These figures are old: {wordsOf(fault)}</p>}
      {children(query.data)}
    </>
  );
}

interface QueryProps<Data, Key extends QueryKey> extends Omit<AnsweredProps<Data>, 'query'> {
  readonly of: UseQueryOptions<Data, Error, Data, Key>;
}

/** Runs a query and shows the answer. */
export function Query<Data, Key extends QueryKey>({ of, ...shown }: QueryProps<Data, Key>) {
  return <Answered query={useQuery(of)} {...shown} />;
}
