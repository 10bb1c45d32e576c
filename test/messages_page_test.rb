# frozen_string_literal: true

require "test_helper"
require_relative "../rakelib/messages_page"

class MessagesPageTest < Skep::TestCase
  test "the page of messages is what `rake messages` writes" do
    assert_equal MessagesPage.text, File.read(MessagesPage::PATH, encoding: "UTF-8")
  end
end
