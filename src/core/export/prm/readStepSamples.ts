import { readMathShepherd } from './mathShepherd.ts';
import { readPrm800k } from './prm800k.ts';
import { readProcessBench } from './processBench.ts';
import type { StepSample } from './stepSample.ts';
import { readTrlStepwise } from './trlStepwise.ts';

/** Published step label formats. */
export const stepDataForms = ['prm800k', 'trl-stepwise', 'math-shepherd', 'processbench'] as const;
export type StepDataForm = (typeof stepDataForms)[number];

const readers: Readonly<Record<StepDataForm, (value: unknown) => StepSample[] | string>> = {
	prm800k: readPrm800k,
	'trl-stepwise': readTrlStepwise,
	'math-shepherd': readMathShepherd,
	processbench: readProcessBench,
};

/** Detects the format of a line from its field names. Returns null if unknown. */
export function stepDataForm(value: unknown): StepDataForm | null {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
	if ('question' in value && 'label' in value) return 'prm800k';
	if ('completions' in value && 'labels' in value) return 'trl-stepwise';
	if ('input' in value && 'label' in value) return 'math-shepherd';
	return 'problem' in value && 'steps' in value && 'label' in value ? 'processbench' : null;
}

/**
 * Parses the solutions in a line of any supported format. Returns a phrase if the format is unknown or the line is
 * malformed.
 */
export function readStepSamples(value: unknown): StepSample[] | string {
	const form = stepDataForm(value);
	return form === null ? 'is not in a supported step label format' : readers[form](value);
}
