import type { AbortSignalLike } from '../base/async.ts';
import type { ExportFormat } from '../core/export/exportFormat.ts';
import type { PairingOptions } from '../core/export/preferencePairs.ts';
import type { RolloutSelection } from '../core/export/selection.ts';
import type { TextForm } from '../core/export/textForms.ts';
import type { Perturbation } from '../core/trace/perturb.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { RolloutSplit, RunFault } from './runContent.ts';

export interface RolloutExport {
	readonly as: Extract<ExportFormat, 'sft' | 'dpo' | 'cases'>;
	readonly split: RolloutSplit;
	readonly selection: RolloutSelection;
	/** Defaults to the format that the first rollout was recorded in. `messages` is available for SFT only. */
	readonly form?: TextForm | 'messages';
	/** SFT: skip exact duplicates of earlier examples. */
	readonly unique?: boolean;
	readonly pairing?: PairingOptions;
	/** Reward cases only: see core/export/rewardCase.ts. */
	readonly reward?: string;
	readonly caseReward?: string;
	/** SFT: how to modify each completion. */
	readonly perturb?: Perturbation;
	readonly seed?: number;
	/** Tags in the run's template. */
	readonly tags: TraceTags;
}

export interface ExportProgress {
	/** Number of steps processed, and the total. */
	readonly done: number;
	readonly total: number;
	readonly read: number;
	readonly written: number;
}

/** Result of an export. */
export interface ExportSummary {
	readonly path: string;
	readonly as: ExportFormat;
	/** Text format; null for labels. */
	readonly form: TextForm | 'messages' | null;
	readonly bytes: number;
	/** Number of items checked, and their type. */
	readonly read: number;
	readonly what: 'rollouts' | 'labeled rollouts' | 'judged pairs' | 'lines';
	/** Number of lines in the file. */
	readonly written: number;
	/**
	 * Reasons for skipped items, with counts. For pairs, includes groups, such as "groups whose rewards are all equal".
	 */
	readonly leftOut: readonly { readonly reason: string; readonly count: number }[];
	/** Number of unreadable records, and the first few of them. */
	readonly unreadable: number;
	readonly faults: readonly RunFault[];
}

export interface ExportOptions {
	/** Whether to replace an existing file. */
	readonly replace: boolean;
	readonly signal?: AbortSignalLike;
	readonly onProgress?: (progress: ExportProgress) => void;
}
