<?php
/** Tells whether the upload may start, and what to tell the person. */
function mayStore(string $owner, string $subject, string $size): array
{
    $query = http_build_query(['owner' => $owner, 'subject' => $subject, 'size' => $size]);
    $end = microtime(true) + 2;
    $answer = '';
    $gate = @stream_socket_client('unix:///run/softquota/gate.sock', $code, $error, 2);
    if ($gate !== false) {
        @fwrite($gate, "GET /v1/check?$query HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nConnection: close\r\n\r\n");
        while (!feof($gate) && ($left = $end - microtime(true)) > 0) {
            stream_set_timeout($gate, (int) $left, (int) (fmod($left, 1) * 1e6));
            $answer .= @fread($gate, 4096);
        }
        fclose($gate);
    }
    [$head, $text] = explode("\r\n\r\n", $answer, 2) + ['', ''];
    if (preg_match('/^X-Softquota-Decision: (allowed|refused)\r?$/im', $head, $found)) {
        return [$found[1] === 'allowed', $text];
    }
    return [true, 'The quota could not be checked.']; // false denies
}

[$allowed, $message] = mayStore($argv[1], $argv[2], $argv[3]);
fwrite(STDERR, $message);
exit($allowed ? 0 : 1);
