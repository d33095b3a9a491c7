import './playground.css';
import {
	playgroundEventSchema,
	playgroundRequests,
	playgroundStateSchema,
} from '../../src/protocol/playgroundMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { PlaygroundModel } from './playgroundModel.ts';

startApp(
	{ events: playgroundEventSchema, requests: playgroundRequests, state: playgroundStateSchema },
	(bridge, root) => {
		const model = new PlaygroundModel(bridge, bridge.restoreState());
		new App(root, model);
		return { model, saved: () => model.state, saves: (change) => (change === 'written' ? 'never' : 'soon') };
	},
);
