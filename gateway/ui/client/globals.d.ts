/** Put in by the bundler. */
declare const PACKAGE_VERSION: string;
declare const API_VERSION: number;

declare module '*.css';
