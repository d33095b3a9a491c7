import { Failure } from '../../base/failure.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { type ApiKeys, originOf } from './apiKeys.ts';

/** Asks for a URL and its API key. @returns whether anything changed */
export async function setApiKey(keys: ApiKeys, address: unknown): Promise<boolean> {
	const given =
		typeof address === 'string'
			? address
			: await showInputBox({
					title: 'Set an API key',
					prompt: 'Server URL. The key is sent only to this origin.',
					placeHolder: 'https://api.example.com',
					validateInput: (input) => {
						try {
							originOf(input);
							return undefined;
						} catch (error) {
							return input === '' ? undefined : Failure.from(error).toString();
						}
					},
				});
	if (given === undefined || given === '') return false;
	const origin = originOf(given);
	const key = await showInputBox({
		title: `API key for ${origin}`,
		prompt: "Stored in the editor's secret storage",
		password: true,
	});
	if (key === undefined || key.trim() === '') return false;
	await keys.set(origin, key.trim());
	return true;
}

/** @returns whether anything changed */
export async function removeApiKey(keys: ApiKeys, origin: unknown): Promise<boolean> {
	const { origins } = keys;
	if (origins.length === 0) throw new Failure('missing', 'No API keys are stored.', 'Set one with "Set API Key".');
	const chosen =
		typeof origin === 'string'
			? origin
			: await showQuickPick([...origins], { title: 'Remove an API key', placeHolder: 'Select a server' });
	if (chosen === undefined) return false;
	await keys.remove(chosen);
	return true;
}
