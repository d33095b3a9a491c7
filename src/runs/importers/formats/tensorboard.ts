import type { ForeignRollout } from '../foreignRecord.ts';
import { fieldsOf, integerOf, textOf } from '../foreignValues.ts';
import type { RunFormat } from '../runFormat.ts';
import { eventFileName } from './eventFiles.ts';
import { eventMetrics } from './eventMetrics.ts';

/** Text entries that describe a run rather than being samples from it. */
const settings = /^(?:args|model_config|config|hparams|hyperparameters|_hparams_)(?:\/|$)/;

/** Reads a text sample, identified by its tag. */
export function tensorboardText(record: unknown): readonly ForeignRollout[] | string {
	const event = fieldsOf(record);
	const text = textOf(event?.text);
	const tag = textOf(event?.tag) ?? '';
	const step = integerOf(event?.step);
	if (text === null || settings.test(tag)) return [];
	if (step === null) return 'has no step';
	const name = tag.replace(/\/text_summary$/, '');
	return [{ groupKey: name, step, prompt: name, completion: text, reward: null }];
}

const places = [eventFileName, `{writer}/${eventFileName}`];
const writers = new Set(['train', 'val', 'validation', 'eval', 'test']);

/** Some trainers create a folder for each writer; together these folders make up one run. */
const accepts = ({ writer }: Readonly<Record<string, string>>) => writer === undefined || writers.has(writer);

export const tensorboard: RunFormat = {
	name: 'tensorboard',
	title: 'TensorBoard',
	looksFor: 'events.out.tfevents.* files',
	hasSteps: true,
	anyFolder: true,
	tracker: true,
	rollouts: places.map((pattern) => ({ pattern, form: 'events', split: 'train', accepts, rollouts: tensorboardText })),
	metrics: places.map((pattern) => ({ pattern, form: 'events', accepts, metrics: eventMetrics })),
	notes: ['Event files do not record which trainer wrote them: metrics are identified by name only.'],
	async recognize(folder) {
		if (await folder.has(eventFileName)) return true;
		return (await folder.some(`{writer}/${eventFileName}`, 20)).some(({ path }) =>
			writers.has(path.split('/', 1)[0] ?? ''),
		);
	},
};
