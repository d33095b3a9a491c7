import { type Hyperparameters, hyperparametersSchema } from '../../protocol/control.ts';
import { type Decoded, decode } from '../../protocol/decode.ts';
import { changeable, currentHyperparameters } from '../currentHyperparameters.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { nameOf, type RunView } from '../runView.ts';

/** Returns the changes passed by the caller, or undefined if there are none or they are invalid. */
export function givenChanges(argument: unknown): Hyperparameters | undefined {
	if (argument === undefined || argument === null || Array.isArray(argument)) return undefined;
	const decoded = decode(hyperparametersSchema, argument);
	return decoded.ok && Object.keys(decoded.value).length > 0 ? decoded.value : undefined;
}

/** Asks which hyperparameter of a run to change, and for its new value. */
export async function askChanges(view: RunView): Promise<Hyperparameters | undefined> {
	const current = await currentHyperparameters(view.folder, view.record?.stage ?? null);
	const meanings = changeable(view.record?.stage ?? null);
	const picked = await showQuickPick(
		[...meanings].map(([name, detail]) => {
			const value = current[name];
			return { label: name, detail, name, ...(value === undefined ? {} : { description: String(value) }) };
		}),
		{
			title: `Hyperparameters of ${nameOf(view)}`,
			placeHolder: 'Select a hyperparameter to change, starting with the next step',
		},
	);
	if (picked === undefined) return undefined;
	const text = await showInputBox({
		title: picked.name,
		prompt: picked.detail,
		value: picked.description ?? '',
		validateInput: (input) => {
			const change = changeOf(picked.name, input);
			return change.ok ? undefined : `${picked.name} ${change.faults[0]?.message}.`;
		},
	});
	const change = text === undefined ? undefined : changeOf(picked.name, text);
	return change?.ok ? change.value : undefined;
}

function changeOf(name: string, input: string): Decoded<Hyperparameters> {
	const value = input.trim() === '' ? Number.NaN : Number(input);
	return decode(hyperparametersSchema, { [name]: value });
}
