import { useDashboard } from '../context.ts';

/** Each leads to the jobs that have it, too. */
export function Tags({ of: tags }: { of: readonly string[] }) {
  const { address } = useDashboard();
  return (
    <span class="tags">
      {tags.map((tag) => (
        <button
          key={tag}
          type="button"
          class="tag"
          title="Jobs with this tag"
          onClick={() => address.go({ tag, before: '', trail: [] })}
        >
          <bdi>{tag}</bdi>
        </button>
      ))}
    </span>
  );
}
