import './episode.css';
import { episodeEventSchema, episodeRequests, episodeStateSchema } from '../../src/protocol/episodeMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { EpisodeModel } from './episodeModel.ts';

startApp({ events: episodeEventSchema, requests: episodeRequests, state: episodeStateSchema }, (bridge, root) => {
	const model = new EpisodeModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.state, saves: () => 'soon' };
});
