/** Files of passwords as libpq reads them: `.pgpass`, or the one that `PGPASSFILE` names. */
declare module 'pgpass' {
  /** What a session is opened with. */
  interface Connection {
    host: string;
    port: number;
    database: string;
    user: string;
  }
  export default function pgpass(connection: Connection, found: (password: string | undefined) => void): void;
}
