import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** A JSON Schema of the document. */
export type Schema = Record<string, unknown>;

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
}

export interface Answer {
  description: string;
  content?: Record<string, { schema?: Schema }>;
  headers?: Record<string, unknown>;
}

/** One operation of an OpenAPI document, its references to parameters resolved. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  parameters: Parameter[];
  /** Content type to schema; undefined where the operation takes no body. */
  bodies: Record<string, Schema> | undefined;
  responses: Record<string, Answer>;
}

interface RawOperation {
  operationId: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Answer>;
}

interface RawDocument {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
}

/** An OpenAPI document as a client reads it: knows nothing of the server but what stands in it. */
export class ApiDocument {
  readonly operations: Operation[];
  readonly #raw: RawDocument;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
  readonly #checks = new Map<string, ValidateFunction>();

  constructor(raw: unknown) {
    this.#raw = raw as RawDocument;
    this.#ajv.addSchema({ $id: 'api', ...this.#raw });
    this.operations = Object.entries(this.#raw.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => this.#operation(path, method, operation)),
    );
  }

  static async of(url: string): Promise<ApiDocument> {
    return new ApiDocument(await (await fetch(`${url}/openapi.json`)).json());
  }

  operation(id: string): Operation {
    const found = this.operations.find((operation) => operation.id === id);
    if (!found) throw new Error(`the document has no operation ${id}`);
    return found;
  }

  /** What a reference such as `#/components/schemas/JobSpec` stands for. */
  resolve(schema: Schema): Schema {
    return typeof schema.$ref === 'string' ? (this.#at(schema.$ref) as Schema) : schema;
  }

  /** What is wrong with a value by a schema of the document; undefined when nothing is. */
  faultsOf(schema: Schema, value: unknown): string | undefined {
    const key = JSON.stringify(schema);
    const check = this.#checks.get(key) ?? this.#ajv.compile(JSON.parse(key.replaceAll('"#/', '"api#/')));
    this.#checks.set(key, check);
    return check(value) ? undefined : this.#ajv.errorsText(check.errors);
  }

  #operation(path: string, method: string, raw: RawOperation): Operation {
    const content = raw.requestBody?.content;
    return {
      id: raw.operationId,
      method: method.toUpperCase(),
      path,
      parameters: (raw.parameters ?? []).map((parameter) =>
        '$ref' in parameter ? (this.#at(parameter.$ref) as Parameter) : parameter,
      ),
      bodies:
        content && Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema])),
      responses: raw.responses,
    };
  }

  #at(ref: string): unknown {
    const steps = ref.replace(/^#\//, '').split('/');
    return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], this.#raw);
  }
}
