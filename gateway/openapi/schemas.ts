import * as demand from '../../machines/schema/demand.ts';
import * as directUpload from '../../machines/schema/direct-upload.ts';
import * as inspection from '../../machines/schema/inspection.ts';
import * as job from '../../machines/schema/job.ts';
import * as lease from '../../machines/schema/lease.ts';
import * as report from '../../machines/schema/report.ts';
import * as servers from '../../machines/schema/servers.ts';
import * as views from '../../machines/schema/views.ts';
import * as worker from '../../machines/schema/worker.ts';

/** A JSON Schema as plain data. */
export type Json = Record<string, unknown>;

/** What a schema of free keys looks like in the table; OpenAPI tools know it by another word. */
const ANY_KEY = '^.*$';

/**
 * The schemas of the table as OpenAPI components: whatever has a name in the code is written once and referred
 * to. Collects the names that are used.
 */
export class Components {
  readonly #names = new Map<string, string>();
  readonly #used = new Map<string, Json>();

  constructor() {
    for (const [name, schema] of Object.entries({
      ...job,
      ...report,
      ...worker,
      ...views,
      ...lease,
      ...inspection,
      ...demand,
      ...directUpload,
      ...servers,
    })) {
      const text = isSchema(schema) ? JSON.stringify(schema) : undefined;
      if (text !== undefined && !this.#names.has(text)) this.#names.set(text, name);
    }
  }

  /** The schema, or a reference to it when it has a name. */
  of(schema: unknown): Json {
    const name = this.#names.get(JSON.stringify(schema));
    if (name === undefined) return this.#written(schema as Json);
    if (!this.#used.has(name)) {
      this.#used.set(name, {});
      this.#used.set(name, this.#written(schema as Json));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Everything that was referred to. */
  get schemas(): Record<string, Json> {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #written(schema: Json): Json {
    const { properties, patternProperties, items, anyOf, discriminator: _, ...rest } = schema;
    const written: Json = { ...rest };
    if (properties) written.properties = this.#members(properties as Json);
    if (items) written.items = this.of(items);
    if (anyOf) written.anyOf = (anyOf as unknown[]).map((branch) => this.of(branch));
    if (patternProperties) written.additionalProperties = this.of((patternProperties as Json)[ANY_KEY]);
    return written;
  }

  #members(properties: Json): Json {
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, this.of(schema)]));
  }
}

/** Words such as state names are exported beside the schemas. */
function isSchema(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && ('type' in value || 'anyOf' in value || 'enum' in value)
  );
}
