// Requests to the server. When it refuses one, the promise is rejected with its message, which is one sentence.
import { getState } from "./store.js";

// The path of something that concerns one table: the one on display, unless another id is given.
export const ofTable = (path, id = getState().id) => `tables/${id}/${path}`;

const refusal = (content, status) => new Error(content.error || `the server answered ${status}`);

async function send(path, options) {
  let response;
  try {
    response = await fetch(`/api/${path}`, options);
  } catch (error) {
    if (error.name === "TimeoutError") throw new Error("the app has not answered for a while; it may be busy with another table");
    throw new Error("the app is not running any more; start it again and reload this page");
  }
  if (response.ok) return response;
  throw refusal(await response.json().catch(() => ({})), response.status);
}

// limit: after how many milliseconds an answer is not waited for any more.
export const get = async (path, limit = undefined) =>
  (await send(path, { signal: limit ? AbortSignal.timeout(limit) : undefined })).json();

export const post = async (path, body = {}) =>
  (await send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();

export const remove = async (path) => (await send(path, { method: "DELETE" })).json();

export const put = async (path, body) => (await send(path, { method: "PUT", body })).json();

// Upload a table. onProgress gets the share that has been sent, from 0 to 1, which fetch cannot tell.
export function uploadTable(file, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `/api/tables?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onload = () => {
      let content = {};
      try {
        content = JSON.parse(request.responseText);
      } catch { /* not JSON: the message has the status only */ }
      if (request.status === 200) resolve(content);
      else reject(refusal(content, request.status));
    };
    request.onerror = () => reject(new Error("the upload was broken off; is the file larger than allowed, or the app stopped?"));
    request.send(file);
  });
}

// Fetch an exported file of the table on display and hand it to the browser's downloads.
export async function download(name) {
  const blob = await (await send(ofTable(`export/${name}`))).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
