import { readFileSync } from 'node:fs';

interface PackageJson {
  name: string;
  version: string;
}

const pkg = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as PackageJson;

export const PACKAGE_VERSION = pkg.version;
export const SERVICE_NAME = pkg.name;
/** The protocol major; the only part of the version that is compared (docs/protocol.md#versioning). */
export const API_VERSION = 1;
