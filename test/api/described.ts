/**
 * The API's own description as the judge of its answers: every status, header, content type and body that a
 * test sees is one that the OpenAPI document of the same daemon tells of, or the test fails.
 */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Document } from '../../scripts/reference/openapi.ts';
import type { Answer } from './http.ts';

interface Operation {
  readonly id: string;
  readonly path: string;
  readonly method: string;
  readonly description: string;
  readonly responses: Readonly<Record<string, Described>>;
}

interface Described {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

/** Statuses that may be answered where no operation is meant, or before one is looked for. */
const undescribed: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 429]);

/** By the text of a document: to compile its schemas takes longer than to start a daemon. */
const compiled = new Map<string, Ajv2020>();

function ajvFor(text: string, document: Document): Ajv2020 {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(document, 'document');
  compiled.set(text, ajv);
  return ajv;
}

export class Description {
  readonly document: Document;
  /** The statuses that were seen, by the operation's id. */
  readonly seen: ReadonlyMap<string, ReadonlySet<number>>;
  readonly #seen = new Map<string, Set<number>>();
  readonly #operations: readonly Operation[];
  readonly #ajv: Ajv2020;

  /** Reads the text of an OpenAPI document. */
  constructor(text: string) {
    // The tests are about what it says.
    this.document = JSON.parse(text) as Document;
    this.seen = this.#seen;
    this.#operations = operationsOf(this.document);
    this.#ajv = ajvFor(text, this.document);
  }

  get operationIds(): readonly string[] {
    return this.#operations.map(({ id }) => id);
  }

  /** Throws where the answer is not as described. `path` is below /api/v1, as it was sent. */
  check(method: string, path: string, answer: Answer): void {
    const operation = this.operation(method, path);
    const { status, headers, text } = answer;
    const wrong = (what: string) =>
      new Error(`${method} ${path} (${operation?.id ?? 'no operation'}): ${status}: ${what}\n${text}`);
    if (operation === undefined) {
      if (!undescribed.has(status)) throw wrong('this status is for known addresses and methods only');
      if (status === 405 && headers.allow === undefined) throw wrong('Allow is missing');
      this.#checkBody('#/components/schemas/Fault', answer, wrong);
      return;
    }
    const described = operation.responses[status];
    if (described === undefined) throw wrong('the description has no such status');
    for (const name of Object.keys(described.headers ?? {})) {
      if (name !== 'Link' && headers[name.toLowerCase()] === undefined) throw wrong(`${name} is missing`);
    }
    this.#seen.set(operation.id, (this.#seen.get(operation.id) ?? new Set()).add(status));
    const [type] = Object.keys(described.content ?? {});
    if (type === undefined) {
      if (text !== '' || headers['content-type'] !== undefined) throw wrong('there is to be no body');
      return;
    }
    if (type !== headers['content-type']?.replace(/; *charset=utf-8$/, ''))
      throw wrong(`${type} is described`);
    if (method !== 'HEAD' && type === 'application/json') {
      this.#checkBody(schemaAt(operation, status, type), answer, wrong);
    }
  }

  /** The operation that an address and a method mean; literal paths come before those with names in them. */
  operation(method: string, path: string): Operation | undefined {
    const segments = segmentsOf(path.replace(/\?.*$/, ''));
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase();
    const template = [...new Set(this.#operations.map(each => each.path))]
      .filter(each => matches(segmentsOf(each), segments))
      .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))[0];
    return this.#operations.find(each => each.path === template && each.method === wanted);
  }

  #checkBody(schema: string, { headers, text }: Answer, wrong: (what: string) => Error): void {
    if (!/^application\/json\b/.test(headers['content-type'] ?? '')) throw wrong('it is to be JSON');
    if (text === '') return;
    const faults = this.#faults(schema, JSON.parse(text));
    if (faults !== null) throw wrong(faults);
  }

  #faults(schema: string, data: unknown): string | null {
    const validate: ValidateFunction | undefined = this.#ajv.getSchema(`document${schema}`);
    if (validate === undefined) throw new Error(`the description has no ${schema}`);
    return validate(data) ? null : this.#ajv.errorsText(validate.errors, { dataVar: 'body' });
  }
}

function operationsOf({ paths = {} }: Document): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id: operation.operationId,
      path,
      method,
      description: operation.description,
      responses: operation.responses,
    })),
  );
}

function schemaAt({ path, method }: Operation, status: number, type: string): string {
  const pointer = ['paths', path, method, 'responses', String(status), 'content', type, 'schema'];
  return `#/${pointer.map(step => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
}

/** A slash at the end makes no difference. */
function segmentsOf(path: string): readonly string[] {
  return path.replace(/\/$/, '').split('/');
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every((each, at) => (each.startsWith('{') ? segments[at] !== '' : each === segments[at]))
  );
}
