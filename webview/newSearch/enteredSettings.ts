import * as v from 'valibot';
import { Failure } from '../../src/base/failure.ts';
import { typedValue } from '../../src/core/search/paramFields.ts';
import { type AnyStrategy, strategyParams } from '../../src/core/search/strategies.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import type { SearchDraft } from '../../src/protocol/newSearchMessages.ts';
import { samplingSpecSchema, searchSpecSchema } from '../../src/protocol/searchSpec.ts';

/** Settings entered as text: strategy parameters, sampling settings, and search settings. */
export type SettingGroup = 'params' | 'sampling' | 'search';

/** Text of the changed settings, which may be invalid. */
export type SettingTexts = Readonly<Record<SettingGroup, Readonly<Record<string, string>>>>;

export const noTexts: SettingTexts = { params: {}, sampling: {}, search: {} };

/** Returns the settings in a draft. */
export function givenSettings(draft: SearchDraft, group: SettingGroup): Record<string, unknown> {
	const { seed, concurrency } = draft;
	return group === 'search' ? { seed, concurrency } : { ...draft[group] };
}

/** Returns the settings as entered; empty text means the default. */
export function enteredSettings(draft: SearchDraft, texts: SettingTexts, group: SettingGroup): Record<string, unknown> {
	const settings = givenSettings(draft, group);
	for (const [name, text] of Object.entries(texts[group])) {
		if (text.trim() === '') delete settings[name];
		else settings[name] = typedValue(text);
	}
	return settings;
}

/** Returns all parameters, or the defaults while the input is invalid. */
export function enteredParams(strategy: AnyStrategy, draft: SearchDraft, texts: SettingTexts): unknown {
	try {
		return strategyParams(strategy, enteredSettings(draft, texts, 'params'));
	} catch {
		return strategyParams(strategy, {});
	}
}

/** Returns why the settings are invalid; null if they are valid. */
export function settingFault(strategy: AnyStrategy, draft: SearchDraft, texts: SettingTexts): string | null {
	const of = (group: SettingGroup) => enteredSettings(draft, texts, group);
	try {
		strategyParams(strategy, of('params'));
		decodeOrThrow(samplingSpecSchema, of('sampling'), 'Sampling');
		decodeOrThrow(v.pick(searchSpecSchema, ['seed', 'concurrency']), of('search'), 'The search');
		return null;
	} catch (error) {
		return Failure.from(error).message;
	}
}
