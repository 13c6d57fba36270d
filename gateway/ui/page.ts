/** The dashboard as one HTML document. */
export function dashboardPage(serviceName: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${serviceName}</title></head><body><h1>${serviceName}</h1></body></html>`;
}
