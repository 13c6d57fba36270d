/** How long things stay, in seconds; 0: for ever. */
export interface RetentionSettings {
  /** Jobs after their end. */
  keepJobs: number;
  /** Artifacts of jobs after the end of these, and uploads that no job ever named. */
  keepArtifacts: number;
  /** What tasks logged, after the end of their job. */
  keepLogs: number;
  /** Events of jobs after the end of these, and others after they happened. */
  keepEvents: number;
  /** Workers that are gone, after the last sign of life. */
  forgetWorkers: number;
  /** Bytes that store and artifacts may take before the oldest jobs go; 0: no limit. */
  maxDiskBytes: number;
}

/** Nobody asked for anything to be deleted (docs/decisions/0025-retention.md). */
export const KEEP_ALL: RetentionSettings = {
  keepJobs: 0,
  keepArtifacts: 0,
  keepLogs: 0,
  keepEvents: 0,
  forgetWorkers: 0,
  maxDiskBytes: 0,
};

/** Seconds for which bytes stay that nothing names any more, and inputs of which the last job was deleted. */
export const GRACE = 86_400;
