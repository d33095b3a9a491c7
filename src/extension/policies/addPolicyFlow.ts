import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import type { PolicyApi } from '../../protocol/policySpec.ts';
import { showWarning } from '../plainMessages.ts';
import { askChoice, askText, type NoAnswer, type Question } from '../search/questions.ts';
import type { ServerPolicy } from './policySettings.ts';

/** A server described by the user, and its API key ('' if there is none). */
export interface WantedServer {
	readonly server: ServerPolicy;
	readonly key: string;
}

export interface AddPolicyNeeds {
	/** Names already in use. */
	readonly names: readonly string[];
	/** Queries the server for its models. This is the first request sent to it. */
	models(server: ServerPolicy, key: string): Promise<readonly string[]>;
}

/** Default URLs of common servers. */
const places: readonly (readonly [name: string, url: string])[] = [
	['vLLM', 'http://127.0.0.1:8000/v1'],
	['SGLang', 'http://127.0.0.1:30000/v1'],
	['llama.cpp', 'http://127.0.0.1:8080/v1'],
	['Ollama', 'http://127.0.0.1:11434/v1'],
	['Transformers (transformers serve)', 'http://127.0.0.1:8000/v1'],
];

interface Draft {
	url: string;
	key: string;
	model: string;
	api: PolicyApi;
	name: string;
}

type Step = (draft: Draft, question: Question, needs: AddPolicyNeeds) => Promise<'next' | NoAnswer>;

const title = 'Add a policy';
const steps: readonly Step[] = [askPlace, askUrl, askKey, askModel, askApi, askName];

/** Asks for a server in several steps; the user can go back. Returns null if the user canceled. */
export async function askServer(needs: AddPolicyNeeds): Promise<WantedServer | null> {
	const draft: Draft = { url: '', key: '', model: '', api: 'chat', name: '' };
	for (let at = 0; at < steps.length; ) {
		const question = { title, step: at + 1, steps: steps.length };
		const answer = await (steps[at] as Step)(draft, question, needs);
		if (answer === 'cancel') return null;
		at = answer === 'back' ? Math.max(0, at - 1) : at + 1;
	}
	return { server: serverOf(draft), key: draft.key };
}

const serverOf = ({ url, model, api, name }: Draft): ServerPolicy => ({
	kind: 'openai',
	name: name.trim() || 'server',
	baseUrl: url.trim().replace(/\/+$/, ''),
	model: model.trim() || 'model',
	api,
});

async function askPlace(draft: Draft, question: Question): Promise<'next' | NoAnswer> {
	const answer = await askChoice<string>({ ...question, placeholder: 'Select a server' }, [
		...places.map(([label, url]) => ({ label, description: url, value: url })),
		{ label: 'Another OpenAI-compatible server', description: 'self-hosted or from a provider', value: 'https://' },
	]);
	if (answer === 'back' || answer === 'cancel') return answer;
	draft.url = answer.value;
	return 'next';
}

async function askUrl(draft: Draft, question: Question): Promise<'next' | NoAnswer> {
	const answer = await askText(
		{ ...question, placeholder: 'URL, including the path up to /v1' },
		draft.url,
		faultOfUrl,
	);
	if (answer === 'back' || answer === 'cancel') return answer;
	draft.url = answer.value.trim();
	return 'next';
}

async function askKey(draft: Draft, question: Question): Promise<'next' | NoAnswer> {
	const placeholder = "API key, stored in the editor's secret storage (leave empty for none)";
	const answer = await askText({ ...question, placeholder }, draft.key, faultOfKey, true);
	if (answer === 'back' || answer === 'cancel') return answer;
	draft.key = answer.value.trim();
	return 'next';
}

async function askModel(draft: Draft, question: Question, needs: AddPolicyNeeds): Promise<'next' | NoAnswer> {
	const way = await askChoice<'ask' | 'type'>({ ...question, placeholder: 'Select a model' }, [
		{ label: '$(list-unordered) List models from the server', description: draft.url, value: 'ask' },
		{ label: '$(edit) Enter a model name', value: 'type' },
	]);
	if (way === 'back' || way === 'cancel') return way;
	if (way.value === 'ask') {
		const models = await vscode.window.withProgress(
			{ location: vscode.ProgressLocation.Notification, title: `Querying ${new URL(draft.url).host} for models` },
			async () => needs.models(serverOf(draft), draft.key).catch((error: unknown) => Failure.from(error)),
		);
		if (models instanceof Failure) {
			showWarning(`${models.message} Enter the model name instead.`);
		} else if (models.length > 0) {
			const answer = await askChoice<string>(
				{ ...question, placeholder: 'Select a model' },
				models.map((model) => ({ label: model, value: model })),
			);
			if (answer === 'back' || answer === 'cancel') return answer;
			draft.model = answer.value;
			return 'next';
		}
	}
	const named = { ...question, placeholder: 'Model name on the server' };
	const answer = await askText(named, draft.model, (text) => (text.trim() === '' ? 'Enter a name.' : null));
	if (answer === 'back' || answer === 'cancel') return answer;
	draft.model = answer.value.trim();
	return 'next';
}

async function askApi(draft: Draft, question: Question): Promise<'next' | NoAnswer> {
	const answer = await askChoice<PolicyApi>({ ...question, placeholder: 'Select an API' }, [
		{
			label: 'Chat',
			description: 'uses messages and follows instructions; prefix support is tested',
			value: 'chat',
		},
		{ label: 'Completions', description: 'uses a plain prompt and continues from any prefix', value: 'completions' },
	]);
	if (answer === 'back' || answer === 'cancel') return answer;
	draft.api = answer.value;
	return 'next';
}

async function askName(draft: Draft, question: Question, needs: AddPolicyNeeds): Promise<'next' | NoAnswer> {
	const short = draft.model.split('/').at(-1) ?? draft.model;
	const proposed = draft.name || freeName(short, needs.names);
	const answer = await askText({ ...question, placeholder: 'Display name' }, proposed, (text) =>
		faultOfName(text, needs.names),
	);
	if (answer === 'back' || answer === 'cancel') return answer;
	draft.name = answer.value.trim();
	return 'next';
}

export function freeName(name: string, taken: readonly string[]): string {
	for (let n = 1; ; n++) {
		const candidate = n === 1 ? name : `${name} ${n}`;
		if (!taken.includes(candidate)) return candidate;
	}
}

export function faultOfName(text: string, taken: readonly string[]): string | null {
	const name = text.trim();
	if (name === '' || name.length > 80) return 'Enter 1 to 80 characters.';
	return taken.includes(name) ? 'A policy with this name already exists.' : null;
}

export function faultOfUrl(text: string): string | null {
	let url: URL;
	try {
		url = new URL(text.trim());
	} catch {
		return 'Use the format http://127.0.0.1:8000/v1.';
	}
	if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'The URL must start with http:// or https://.';
	if (url.username !== '' || url.password !== '')
		return 'Omit the user name and password. The API key is entered in the next step.';
	if (url.search !== '' || url.hash !== '') return 'Omit everything after the path.';
	return null;
}

export function faultOfKey(text: string): string | null {
	return text.trim() === '' || /^[\x21-\x7e]+$/.test(text.trim())
		? null
		: 'API keys can only contain ASCII characters and no spaces.';
}
