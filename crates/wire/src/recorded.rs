//! Packets as real programs sent them, as hex, without their four-byte headers.

use crate::Capabilities;

/// Bytes from hex; spaces are for the reader.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Every beginning of the payload but the whole.
pub(crate) fn cut_everywhere(payload: &[u8], check: impl Fn(&[u8])) {
    (0..payload.len()).for_each(|length| check(&payload[..length]));
}

/// Every decoder gets every packet, with each byte in turn replaced by those that mean something to a length.
#[test]
fn no_decoder_panics_on_a_changed_byte() {
    let bytes = [0x00, 0x01, 0x08, 0x7F, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
    for packet in ALL.iter().map(|packet| hex(packet)) {
        for (at, byte) in (0..packet.len()).flat_map(|at| bytes.map(|byte| (at, byte))) {
            let mut changed = packet.clone();
            changed[at] = byte;
            decode_as_everything(&changed);
        }
    }
}

fn decode_as_everything(payload: &[u8]) {
    let _ = crate::Greeting::decode(payload).map(|greeting| greeting.encode());
    if let Ok(crate::LoginPacket::Login(login)) = crate::LoginPacket::decode(payload) {
        login.encode();
    }
    crate::AuthPacket::decode(payload);
    let _ = crate::ErrPacket::decode(payload);
    crate::attributes::with_own(payload, &[], 100);
    for capabilities in [Capabilities::empty(), Capabilities::all()] {
        let _ = crate::ChangeUser::decode(payload, capabilities).map(|change| change.encode(capabilities));
        let _ = crate::Query::decode(payload, capabilities).map(|query| query.attributes().count());
        let _ = crate::PrepareOk::decode(payload, capabilities);
        let _ = crate::OkPacket::decode(payload, capabilities);
        crate::without_redirect(payload, capabilities);
        for declared in [0, 2, u16::MAX] {
            let execute = crate::Execute::decode(payload, declared, capabilities);
            let _ = execute.map(|execute| crate::types_inserted(payload, &execute, &[0xFE, 0, 0]));
            let _ = crate::BulkExecute::decode(payload, declared).map(|bulk| bulk.with_types(&[0xFE, 0]));
        }
    }
}

const ALL: &[&str] = &[
    GREETING,
    MARIADB_GREETING,
    MYSQL_LOGIN,
    PYMYSQL_LOGIN,
    CONNECTOR_PYTHON_LOGIN,
    SSL_REQUEST,
    AUTH_SWITCH,
    CHANGE_USER,
    OK_PLAIN,
    OK_LOGIN_SCHEMA,
    OK_TIME_ZONE,
    ACCESS_DENIED,
    QUERY_NO_ATTRIBUTES,
    QUERY_ATTRIBUTES,
    PREPARE_OK,
    EXECUTE_NO_ATTRIBUTES,
    EXECUTE_ATTRIBUTES,
];

/// MySQL 9.7.4.
pub(crate) const GREETING: &str = "0a392e372e342d32007800000034604a073c7e2d1d00ffffff0200ffdf15000000000000000000006b7c763d0476275d572b \
    766a0063616368696e675f736861325f70617373776f726400";

/// MariaDB 10.11, put together from its documentation.
pub(crate) const MARIADB_GREETING: &str = "0a352e352e352d31302e31312e362d4d6172696144422d302b64656231327531001f00000056343b7c6e29446600fef72d02 \
    00ff81150000000000001d0000006e717b792a664a3d7551334c006d7973716c5f6e61746976655f70617373776f726400";

/// The `mysql` program 9.7.4.
pub(crate) const MYSQL_LOGIN: &str = "8da2bf1900000001ff00000000000000000000000000000000000000000000006170700020c76499ad85dd7ff48d33e27cc7 \
    605669f58dfcbd37edebfaf588363475fccbd1746573740063616368696e675f736861325f70617373776f72640072045f70 \
    6964053132353631095f706c6174666f726d067838365f3634035f6f73054c696e75780c5f636c69656e745f6e616d65086c \
    69626d7973716c076f735f7573657204726f6f740f5f636c69656e745f76657273696f6e05392e372e340c70726f6772616d \
    5f6e616d65056d7973716c";

/// PyMySQL 1.2.4.
pub(crate) const PYMYSQL_LOGIN: &str = "0da23a00ffffff002d00000000000000000000000000000000000000000000006170700020a0d67b9650d2d1b60615a411d7 \
    4b70d4afebdeb39c7f9ba5a81da47a80b6084e746573740063616368696e675f736861325f70617373776f726400360c5f63 \
    6c69656e745f6e616d650770796d7973716c0f5f636c69656e745f76657273696f6e05312e322e34045f7069640531323537 \
    31";

/// Connector/Python.
pub(crate) const CONNECTOR_PYTHON_LOGIN: &str = "0da23b1800000040ff00000000000000000000000000000000000000000000006170700020e2879bdb085aabca2ec0948e76 \
    7657708ed02912f7e839549ab35ed4bdf7019a746573740063616368696e675f736861325f70617373776f7264008e045f70 \
    6964053132353731095f706c6174666f726d067838365f36340c5f736f757263655f686f737402766d0c5f636c69656e745f \
    6e616d65166d7973716c2d636f6e6e6563746f722d707974686f6e0f5f636c69656e745f6c6963656e73650747504c2d322e \
    300f5f636c69656e745f76657273696f6e0732362e31302e30035f6f730944656269616e2d3132";

/// The `mysql` program 9.7.4.
pub(crate) const SSL_REQUEST: &str = "8daabf1900000001ff0000000000000000000000000000000000000000000000";

/// After COM_CHANGE_USER.
pub(crate) const AUTH_SWITCH: &str =
    "fe63616368696e675f736861325f70617373776f7264001e731c7d2569103c27127e3b1b28145a29196f1b00";

/// Connector/Python.
pub(crate) const CHANGE_USER: &str = "1165746c0020c633216fdfda28a6639d8d0828d3d5aedf1018bb087d2c58a54013590eb45f8f7465737400ff006361636869 \
    6e675f736861325f70617373776f7264008e045f706964053132353731095f706c6174666f726d067838365f36340c5f736f \
    757263655f686f737402766d0c5f636c69656e745f6e616d65166d7973716c2d636f6e6e6563746f722d707974686f6e0f5f \
    636c69656e745f6c6963656e73650747504c2d322e300f5f636c69656e745f76657273696f6e0732362e31302e30035f6f73 \
    0944656269616e2d3132";

/// With SESSION_TRACK agreed on, and nothing to tell.
pub(crate) const OK_PLAIN: &str = "00000002000000";

/// The end of a login with a database.
pub(crate) const OK_LOGIN_SCHEMA: &str = "00000002400000000701050474657374";

/// `set time_zone`, with `session_track_system_variables = *`.
pub(crate) const OK_TIME_ZONE: &str =
    "00000002400000002700120c73746174656d656e745f6964043130313400110974696d655f7a6f6e65062b30303a3030";

/// 1045.
pub(crate) const ACCESS_DENIED: &str = "ff15042332383030304163636573732064656e69656420666f722075736572202765746c2740276c6f63616c686f73742720 \
    287573696e672070617373776f72643a2059455329";

/// The `mysql` program: `select 1`.
pub(crate) const QUERY_NO_ATTRIBUTES: &str = "03000173656c6563742031";

/// Connector/Python: a string, an integer, a double.
pub(crate) const QUERY_ATTRIBUTES: &str =
    "0303010001fe00036a6f620180016e050001660365746c05000000000000f83f73656c6563742031";

/// `select ?, ?`
pub(crate) const PREPARE_OK: &str = "000100000002000200000000";

/// Connector/Python, of `select ?, ?` with QUERY_ATTRIBUTES agreed on.
pub(crate) const EXECUTE_NO_ATTRIBUTES: &str = "17010000000001000000020001018000fe00000103616263";

/// The same with the attribute `job`.
pub(crate) const EXECUTE_ATTRIBUTES: &str = "17010000000801000000030001018000fe0000fe00036a6f6203036162640365746c";
