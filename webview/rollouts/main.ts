import './rollouts.css';
import { toDisposable } from '../../src/base/disposable.ts';
import type { Listener } from '../../src/base/event.ts';
import { panelEventSchema, panelRequests } from '../../src/protocol/explorerMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { RolloutsModel } from './rolloutsModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: panelEventSchema, requests: panelRequests, state: savedStateSchema }, (bridge, root) => {
	const { continued, ...view } = bridge.restoreState() ?? { continued: null };
	const model = new RolloutsModel(
		(method, params, signal) => bridge.request(method, params, signal),
		() => bridge.post({ type: 'ready' }),
		'runFolder' in view ? view : undefined,
	);
	const app = new App(
		root,
		model,
		() => bridge.post({ type: 'openDashboard' }),
		(command) => bridge.post(command),
	);
	const { continuations } = app;
	if (continued) continuations.restore(continued);
	return {
		model: {
			receive: (event) => app.receive(event),
			onChange: (listener: Listener<'view' | 'text'>) => {
				const parts = [
					model.onChange(() => listener('view')),
					continuations.onDraft(() => listener('text')),
					continuations.onChange(() => listener('text')),
				];
				return toDisposable(() => {
					for (const part of parts) part.dispose();
				});
			},
		},
		saved: () => {
			const state = model.saved();
			return state && { ...state, continued: continuations.kept() };
		},
		saves: (change) => (change === 'view' ? 'now' : 'soon'),
	};
});
