import type { MemoryEstimate, StageEstimate } from './estimateRecipe.ts';
import type { MemoryMoment, MemoryPart } from './stageMemory.ts';

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a size, such as `14.2 GiB`. */
export function bytesText(bytes: number): string {
	let value = bytes;
	let unit = 0;
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Display names of memory parts. */
export const partWords: Readonly<Record<MemoryPart, string>> = {
	weights: 'weights',
	reference: 'reference model',
	sampler: 'copy for sampling',
	optimizer: 'optimizer',
	gradients: 'gradients',
	activations: 'activations',
	logits: 'logits',
	cache: 'keys and values',
	buckets: 'gradient buckets',
	gathered: 'gathered blocks',
};

const momentWords: Readonly<Record<MemoryMoment, string>> = {
	backward: 'in the backward pass',
	optimizer: 'in the update',
	generation: 'while sampling',
};

/** Lists the parts, largest first: `weights 1.8 GiB, optimizer 3.7 GiB, ...`. */
export function partsText(parts: StageEstimate['parts']): string {
	return (Object.entries(parts) as [MemoryPart, number][])
		.sort(([, a], [, b]) => b - a)
		.map(([part, bytes]) => `${partWords[part]} ${bytesText(bytes)}`)
		.join(', ');
}

/** Formats one line per stage: `Stage 2 (grpo): 14.2 GiB in the backward pass, 16 rows of 384 tokens`. */
export function stageText({ stage, type, peak, moment, rows, length }: StageEstimate): string {
	return `Stage ${stage + 1} (${type}): ${bytesText(peak)} ${momentWords[moment]}, ${rows} rows of ${length} tokens`;
}

/** Summarizes the total in one sentence. */
export function totalText({ total, device, processes, deviceBytes, fits }: MemoryEstimate): string {
	const where = device === 'cpu' ? 'this machine' : 'the GPU';
	const who = device !== 'cpu' && processes > 1 ? 'Each process needs' : 'The run needs';
	const about = `${who} about ${bytesText(total)}`;
	if (deviceBytes === null) return `${about}.`;
	return fits
		? `${about}; ${where} has ${bytesText(deviceBytes)}.`
		: `${about}, but ${where} has only ${bytesText(deviceBytes)}.`;
}

/** Summarizes the memory use of a pipeline in one sentence. Stages run one after another, so the largest one counts. */
export function pipelineTotalText(forecast: {
	readonly largest: string;
	readonly total: number;
	readonly deviceBytes: number | null;
	readonly fits: boolean | null;
}): string {
	const about = `The stages need up to about ${bytesText(forecast.total)} (in ${forecast.largest})`;
	if (forecast.deviceBytes === null) return `${about}.`;
	const has = `${bytesText(forecast.deviceBytes)} is available`;
	return forecast.fits === false ? `${about}, but only ${has}. Not all stages fit.` : `${about}; ${has}.`;
}

/** Describes a pipeline's time limit according to its recipe. Returns null if there is none. */
export function minutesText({ minutes, bounded }: { readonly minutes: number | null; readonly bounded: boolean }) {
	if (minutes === null) return null;
	const sum = `${Number(minutes.toFixed(2))} minutes`;
	return bounded
		? `The recipe limits training to ${sum}.`
		: `The recipe limits some stages to ${sum} in total; the other stages have no time limit.`;
}
