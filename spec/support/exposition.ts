/** The series of a text of metrics, such as `jq_tasks{status="queued"}`, with their values. */
export function seriesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(' ');
      return [line.slice(0, cut), Number(line.slice(cut + 1))];
    }),
  );
}

/** The metrics of a server, as Prometheus gets them. */
export async function scrape(
  url: string,
  headers: Record<string, string> = {},
): Promise<Map<string, number>> {
  const answer = await fetch(`${url}/metrics`, { headers });
  if (answer.status !== 200) throw new Error(`/metrics: ${answer.status} ${await answer.text()}`);
  return seriesOf(await answer.text());
}
