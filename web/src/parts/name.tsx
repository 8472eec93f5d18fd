/**
 * Names that a stranger may have chosen: as text, apart from what it stands in, with nothing in it that
 * misleads.
 */

import type { ComponentChildren } from 'preact';
import { printable } from '../../../src/text/index.ts';
import type { PageId } from '../../../src/wire/pages.ts';
import { to } from '../place.ts';
import { counted } from './figures.tsx';

export function Name({ children }: { readonly children: string }) {
  const shown = printable(children);
  return <bdi class={hasShortWords(shown) ? 'whole' : undefined}>{shown}</bdi>;
}

interface NameLinkProps {
  readonly page: PageId;
  readonly children: string;
  /** False: the page is not for who reads this, so that the name stands alone. */
  readonly isLinked?: boolean;
}

/** A name that leads to the page of what has it. */
export function NameLink({ page, children, isLinked = true }: NameLinkProps) {
  const name = <Name>{children}</Name>;
  return isLinked ? <a href={to(page, children)}>{name}</a> : name;
}

interface ListedProps {
  readonly of: readonly string[];
  /** Draws one of them. */
  readonly children: (text: string) => ComponentChildren;
}

/** Several with commas between them. */
export function Listed({ of, children }: ListedProps) {
  return (
    <>
      {of.map((text, index) => (
        <span key={text}>
          {index > 0 && ', '}
          {children(text)}
        </span>
      ))}
    </>
  );
}

/** The names of several, each with the way to its page; `none` where there are none. */
export function NameLinks({ page, names }: { readonly page: PageId; readonly names: readonly string[] }) {
  if (names.length === 0) return <span class="quiet-text">none</span>;
  return <Listed of={names}>{name => <NameLink page={page}>{name}</NameLink>}</Listed>;
}

/** The end of a list that is cut off, with how many more there are: `and 3 others`. */
export function Others({ count }: { readonly count: number }) {
  return count > 0 ? <li class="quiet-text">and {counted(count, 'other', 'others')}</li> : null;
}

/** A path, or what else stands in the letters of a program. */
export function Path({ children }: { readonly children: string }) {
  return (
    <code>
      <bdi>{printable(children)}</bdi>
    </code>
  );
}

/** `administrators`: so much fits beside the other columns of a table on a phone. */
const longestWord = 14;

/** A word ends where every browser may break a line: `fifty-gigabytes` has two, `2024-11-20` is one. */
function hasShortWords(text: string): boolean {
  return text.split(/ |(?<=[A-Za-z0-9]-)(?=[A-Za-z])/).every(word => word.length <= longestWord);
}
