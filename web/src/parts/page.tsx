/** Frame of a page: its heading, which gets the focus after a change of pages, and its actions. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import { to } from '../place.ts';

interface PageProps {
  /** Title of the page and the window. A name in it is made harmless. */
  readonly title: string;
  /** Heading in place of the title, if it is more than text. */
  readonly heading?: ComponentChildren;
  /** Links to the pages above. */
  readonly trail?: ComponentChildren;
  /** Section of the help about this page. */
  readonly help?: string;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The first page of a visit takes no focus, so that it is read from the top. */
let isFirst = true;

export function Page({ title, heading, trail, help, actions, children }: PageProps) {
  const at = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    document.title = `${printable(title)} · softquota`;
  }, [title]);
  useLayoutEffect(() => {
    if (!isFirst) at.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  return (
    <>
      <div class="page-head">
        {trail !== undefined && <div class="trail">{trail}</div>}
        <h1 ref={at} tabIndex={-1}>
          {heading ?? printable(title)}
        </h1>
        <div class="row">
          {actions}
          {help !== undefined && <a href={`${to('help')}#${help}`}>Help</a>}
        </div>
      </div>
      <div class="stack">{children}</div>
    </>
  );
}

interface FactProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

/** A name and its value, in a list of facts. */
export function Fact({ name, children }: FactProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

interface PanelProps {
  readonly title: string;
  /** Content beside the title. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a page with its own heading. */
export function Panel({ title, actions, children }: PanelProps) {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{title}</h2>
        {actions}
      </div>
      <div class="stack">{children}</div>
    </section>
  );
}
