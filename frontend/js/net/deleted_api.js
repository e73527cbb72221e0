/** The routes of deleted chats; see docs/api.md. Each is rejected as `askRoute` is. */

import { askRoute, postJson, sendJson } from "./answers.js";

/**
 * @typedef {object} DeletedChat
 * @property {string} id
 * @property {string} title
 * @property {number} deleted_at  in seconds since 1970, as the next
 * @property {number} purged_at  when it is deleted for good by itself
 * @property {number} message_count
 *
 * @typedef {{sessions: DeletedChat[], kept_days: number}} DeletedChats
 */

const ADDRESS = "/api/sessions/deleted";

/** @returns {Promise<DeletedChats>} */
export const readDeleted = () => askRoute(ADDRESS);

/** @param {string} id */
export const restoreChat = (id) => postJson(`${ADDRESS}/restore`, { id });

/** @param {string[]} ids */
export const purgeChats = (ids) => sendJson("DELETE", ADDRESS, { ids });
