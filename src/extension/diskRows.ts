import { formatBytes, formatPercent } from '../base/format.ts';
import { runFiles } from '../runs/runFiles.ts';
import type { DiskUse } from '../runs/runReader.ts';
import { displayText } from './runView.ts';

export interface DiskRow {
	readonly label: string;
	/** "1.2 MB · 34%" */
	readonly description: string;
	/** What can be done about it. */
	readonly prune: 'checkpoints' | 'tokens' | null;
}

/** The parts of a run folder by size, largest first. */
export function diskRows(use: DiskUse, canPrune: boolean): DiskRow[] {
	return Object.entries(use.parts)
		.sort(([a, bytesA], [b, bytesB]) => bytesB - bytesA || (a < b ? -1 : 1))
		.map(([name, bytes]) => ({
			label: displayText(name),
			description: `${formatBytes(bytes)} · ${formatPercent(use.total === 0 ? 0 : bytes / use.total, 0)}`,
			prune: !canPrune
				? null
				: name === runFiles.checkpoints
					? 'checkpoints'
					: name === runFiles.rollouts
						? 'tokens'
						: null,
		}));
}
