import type { GroupSummary } from '../../src/protocol/rolloutsMessages.ts';

const namespace = 'http://www.w3.org/2000/svg';

/** Range of rewards in a step, extended to include 0, so that all groups use the same scale. */
export interface RewardRange {
	readonly low: number;
	readonly high: number;
}

export function rewardRange(groups: readonly GroupSummary[]): RewardRange {
	let low = 0;
	let high = 0;
	for (const { reward } of groups) {
		for (const value of reward) {
			if (value === null) continue;
			low = Math.min(low, value);
			high = Math.max(high, value);
		}
	}
	return low === high ? { low: 0, high: 1 } : { low, high };
}

/** Maximum number of bars in a list row. */
const shown = 32;
const barWidth = 5;
const barHeight = 16;

export interface Bar {
	readonly x: number;
	readonly y: number;
	readonly height: number;
}

/**
 * Returns the position of each bar, which extends up or down from zero and is at least one pixel high; null for a
 * rollout without a reward.
 */
export function layoutBars(values: readonly (number | null)[], range: RewardRange, height: number): (Bar | null)[] {
	const scale = height / (range.high - range.low);
	const zero = range.high * scale;
	return values.map((value, i) => {
		if (value === null) return null;
		const size = Math.max(1, Math.abs(value) * scale);
		const y = value >= 0 ? zero - size : zero;
		return { x: i * barWidth, y: Math.max(0, Math.min(height - 1, y)), height: size };
	});
}

/**
 * Renders a group's rewards as small bars. They are hidden from screen readers, because the row label contains the
 * numbers.
 */
export function rewardBars(group: GroupSummary, rows: ReadonlySet<number> | null, range: RewardRange): SVGSVGElement {
	const svg = document.createElementNS(namespace, 'svg');
	const values = group.reward.slice(0, shown);
	const width = Math.max(1, values.length) * barWidth;
	svg.setAttribute('class', 'reward-bars');
	svg.setAttribute('width', String(width));
	svg.setAttribute('height', String(barHeight));
	svg.setAttribute('viewBox', `0 0 ${width} ${barHeight}`);
	svg.setAttribute('aria-hidden', 'true');
	layoutBars(values, range, barHeight).forEach((bar, i) => {
		const rect = document.createElementNS(namespace, 'rect');
		const kind = bar === null ? 'none' : group.correct[i] === true ? 'right' : 'wrong';
		rect.setAttribute('class', `bar bar-${kind}${rows === null || rows.has(i) ? '' : ' bar-hidden'}`);
		rect.setAttribute('x', String(i * barWidth));
		rect.setAttribute('y', String(bar?.y ?? barHeight / 2));
		rect.setAttribute('width', String(barWidth - 1));
		rect.setAttribute('height', String(bar?.height ?? 1));
		svg.append(rect);
	});
	return svg;
}
