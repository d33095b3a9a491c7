import { formatBytes, formatPercent } from '../base/format.ts';
import { runFiles } from '../runs/runFiles.ts';
import type { DiskUse } from '../runs/runReader.ts';
import { displayText } from './runView.ts';

export interface DiskRow {
	readonly label: string;
	/** Size and percentage, such as "1.2 MB · 34%". */
	readonly description: string;
	/** Available action for reducing the size; null if there is none. */
	readonly prune: 'checkpoints' | 'tokens' | null;
}

/** Returns the components of a run folder by size, largest first. */
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
